#!/usr/bin/env python3
"""refincident.py SECONDS.gz [CUT]: incidents from judged seconds, the executable reference of src/incidents.
Prints JSON {incidents, host} and, on stderr, a sentence for each. Input is what blkstat said of each second of a recording,
as store_seconds wrote it: rows of the judge, who (cgroups, processes, waiting tasks), devices (what lies on what), and
swapped pages. With CUT, nothing after that time, in seconds since 1970, is read: what was to be told then."""
import collections, datetime, gzip, json, re, statistics, sys
# constants: reasons in INCIDENTS.md
PATIENCE, LONG_PATIENCE, BEGIN_OF, BEGIN = 5, 2, 3, 2    # METHOD.md: 2 bad of 3 begin, 5 good steps end, or 2 of 5 s and more
CALM, CALM_GAP = 60, 3                      # "before": the minute before the begin, without its last 3 s
QUARTER, HALF, FELL, MORE, ROSE = 0.25, 0.5, 0.8, 1.5, 3        # word; owner's part of the rise; "does less than before"
NO_CPU, FEW, BURST = 5, 2, 70               # % of CPU; requests; % util: below these the CPU comes before the device
USED, USED_WAS, USED_PSI = 90, 60, 45       # % util, % util before, % io pressure: in use all the time
GAP, MIN_CPU = 5, 8                         # s without samples that break an incident; bad seconds before CPU is told
SEVERE = ["stalled", "throttled", "capped", "saturated", "slow", "busy"]
SYNC = ("rebuilding", "being ", "resync", "reshap")
SHELLS = ("sh", "bash", "dash", "zsh")          # their bytes are those of children that ended
STATED = ("sync", "limit", "suspended")
SERVERS = ("nbdkit", "nbdfuse", "qemu-nbd", "nbd-client", "rbd-nbd", "tcmu-runner", "glusterfs", "ceph-osd", "iscsid", "mount.")
KERNEL = re.compile(r"kworker/|jbd2/|kswapd|kcompactd|md\d+_|dmcrypt|kcryptd|xfsaild|xfs-|btrfs-|loop\d|flush-")
clock = lambda t: datetime.datetime.fromtimestamp(t, datetime.timezone.utc).strftime("%H:%M:%S")
med = lambda v, d=None: statistics.median(v) if v else d
ZERO = ("reads_per_s", "writes_per_s", "discards_per_s", "flushes_per_s", "read_kib_per_s", "write_kib_per_s", "iops", "queue", "missed_samples")

class Data:
    def __init__(self, stored, cut):
        lines = [json.loads(l) for l in gzip.open(stored, "rt")]
        raw, who = [self.full(l, lines[0]) for l in lines if "verdict" in l], [self.full(l, lines[1]) for l in lines if "kind" in l]
        raw, who = [r for r in raw if r["time_s"] <= cut], [w for w in who if w["time_s"] <= cut]
        self.rows, self.host, self.t, self.facts_of_host = collections.defaultdict(dict), {}, [], []
        skew, last = 0.0, None
        for r in raw:                       # time without clock steps: a step moves what follows back by as much
            t = r["time_s"]
            if t is None: t = (last or 0) + r["elapsed_s"] if r["device"] == raw[0]["device"] else last or 0
            if last is not None and t != last and abs(t - last - (r["elapsed_s"] or 1)) > 60:
                skew += t - last - (r["elapsed_s"] or 1); self.facts_of_host.append(f"at {clock(last)} the clock went {'forward' if t > last else 'back'} by {abs(t - last):.0f} s")
            last = t; r["t"] = t - skew; r["skew"] = skew
            fl = r["flags"] or []
            if "disappeared" in fl or "reappeared" in fl or "appeared" in fl: self.facts_of_host.append(f"{r['device']} {'disappeared' if 'disappeared' in fl else 'appeared'} at {clock(t)}")
            if r["device"] == "total" or r["verdict"] is None: continue
            self.rows[r["device"]][r["t"]] = r
            if r["t"] not in self.host:
                self.host[r["t"]] = r; self.t.append(r["t"])
                if (r["elapsed_s"] or 0) > GAP and (r["missed_samples"] or 0) >= GAP: self.facts_of_host.append(f"no samples for {r['elapsed_s']:.0f} s until {clock(t)}: the host or blkstat stood still")
        for r in raw:                       # None is 0 where only sums are made
            for k in ("queue", "elapsed_s", "missed_samples"): r[k] = r[k] or 0
        self.t.sort(); self.step = max(1, med([r["elapsed_s"] for r in self.host.values()], 1))
        dev = {d["name"]: d for l in lines for d in l.get("devices", [])}
        low = lambda n, seen=(): set().union(*[{b} | low(b, seen + (n,)) for b in dev.get(n, {}).get("backing_devices", []) if b not in seen]) if dev.get(n) else set()
        self.dev, self.below = dev, {n: low(n) for n in set(dev) | set(self.rows)}
        self.stack = lambda a, b: a == b or a in self.below.get(b, ()) or b in self.below.get(a, ())
        self.cg, self.tasks, self.scans = collections.defaultdict(list), collections.defaultdict(list), set()
        self.proc, held, skews = [], {}, {r["time_s"]: r["skew"] for r in raw}
        for w in who:
            w["t"] = t = (w["time_s"] or 0) - skews.get(w["time_s"], 0); self.scans.add(t)
            if w["kind"] == "cgroup": self.cg[w["device"]].append(w); continue
            if (w["comm"] or "").startswith("blkstat"): continue
            if w["is_blocked"]: self.tasks[t].append(w)
            if w["read_kib_per_s"] is not None:           # a process's bytes are repeated until the next scan: counted once
                k = (w["pid"], w["elapsed_s"], w["read_kib_per_s"], w["write_kib_per_s"], w["is_of_ended_children"])
                if held.get(w["pid"]) != k: held[w["pid"]] = k; self.proc.append(w)
        self.swapped = {l["swapped_s"]: l["pages"] for l in lines if "swapped_s" in l and l["swapped_s"] <= cut}
    @staticmethod
    def full(line, names):                                # what is not stored is null, and zero for rates
        return {n: line.get(n, 0 if n in ZERO and "verdict" in line else [] if n in ("health", "flags") else None) for n in names["fields"]}
    def server(self, w): return (w["comm"] or "").startswith(SERVERS) or bool(KERNEL.match(w["comm"] or ""))
    def prog(self, w):                                    # a server's tasks by role: "postgres: checkpointer"
        c = re.sub(r"^(postgres:) [^ ]*:", r"\1", w["command"] or "")       # Debian's begin with the name of the cluster
        return (" ".join(c.split()[:3]) if "[local]" not in c and not any(x.isdigit() for x in c) else w["comm"] + ": client") if c.startswith("postgres:") else w["comm"]

def cause(d, r):
    """One second of a device -> (word, cause), or None if nothing is wrong. Stated facts come before what is inferred."""
    v, host = r["verdict"], d.host[r["t"]]
    facts = [(x, m, h) for x in d.rows if d.stack(x, m := r["device"]) and r["t"] in d.rows[x] for h in d.rows[x][r["t"]]["health"]]
    if v == "stalled":
        s = [x for x, m, h in facts if "suspended" in h]
        if not s and not r["in_flight"] and not r["queue"]: return v, ("frozen", r["device"])        # nothing in flight: what waits, waits above the device
        return v, ("suspended", s[0]) if s else ("stall",)
    if v == "throttled" and r["limit_cgroup"]: return v, ("limit", r["limit_cgroup"], r["limit_kind"], r["limit_value"])
    if v not in SEVERE[:-1]: return ("busy", ("used",)) if used(d, r) else None
    s = [x for x, m, h in facts if any(w in h for w in SYNC)]
    if s: return v, ("sync", s[0])
    if v == "slow" and r["queue"] < FEW and (host["cpu_available_pct"] if host["cpu_available_pct"] is not None else 99) < NO_CPU: return v, ("cpu",)
    return v, ("capped",) if v == "capped" else ("queue",)

def before(d, dev, t, ok=("ok", "busy", "idle", "queueing")):
    return [r for u, r in d.rows[dev].items() if t - CALM - CALM_GAP <= u < t - CALM_GAP and r["verdict"] in ok and not r.get("bad")]

def used(d, r):
    """In use all the time, tasks wait most of the time, and a calm before shows that this is not its normal state."""
    if not (r["util_pct"] and r["util_pct"] >= USED and r["queue"] >= 0.9 and (r["io_pressure_some_pct"] or 0) >= USED_PSI): return False
    b = [x for x in before(d, r["device"], r["t"]) if not x.get("used")]
    r["used"] = len(b) >= 10 and med([x["util_pct"] or 0 for x in b]) <= USED_WAS
    return r["used"]

def limits(d):
    """A limit that appeared while its cgroup did more than it permits: every second since then in which it is in force and met is throttled."""
    out = {}
    for low in list(d.cg):
        for g in {w["cgroup"] for w in d.cg[low]}:
            ws = [w for w in d.cg[low] if w["cgroup"] == g]
            for kind, rate in (("read_iops", "reads_per_s"), ("write_iops", "writes_per_s"), ("read_kib_per_s",) * 2, ("write_kib_per_s",) * 2):
                on = [w for w in ws if w[kind + "_limit"] and w[kind + "_limit"] < 1e8]
                if not on: continue
                t0, lim = on[0]["t"], on[0][kind + "_limit"]
                was = [w[rate] or 0 for w in ws if t0 - 30 <= w["t"] < t0]
                tops = [x for x in d.rows if low in d.below[x] and not any(x in d.below[y] for y in d.rows) and any(w["cgroup"] == g and ((w["read_kib_per_s"] or 0) + (w["write_kib_per_s"] or 0)) > 0 for w in d.cg.get(x, []))]
                top = tops[0] if tops else low
                rows = d.rows.get(top, {}); ts = sorted(rows)
                held = med([w[rate] or 0 for w in on if w["t"] > t0]); top_ = max((w[rate] or 0 for w in on), default=0)
                if len(was) >= 2 and sum(was) / len(was) > lim and held is not None and top_ >= lim / 2 and held <= 1.1 * lim: first, last = t0, on[-1]["t"]
                else:                                                  # seen only by the judge: since when the device in trouble did no more than that
                    for y in (y for y in d.rows if d.stack(y, top)):
                        us = sorted(d.rows[y]); j = [u for u in us if d.rows[y][u]["limit_cgroup"] == g and d.rows[y][u]["verdict"] == "throttled"]
                        for u in reversed([u for u in us if j and u < j[0]]):
                            if d.rows[y][u]["verdict"] not in SEVERE[:-1] or (d.rows[y][u][rate] or 0) > 1.25 * lim: break
                            out[y, u] = ("limit", g, kind, lim)
                    continue
                calm = med([rows[u][rate] or 0 for u in ts if first - 60 <= u < first - 15], 0)
                most = 1.25 * lim if first in rows and (rows[first][rate] or 0) <= 1.1 * lim else max(1.1 * lim, .6 * calm)
                while (e := [u for u in ts if first - 15 <= u < first]) and 0 < (rows[e[-1]][rate] or 0) <= most and t0 - e[-1] <= 15: first = e[-1]
                for u in ts:
                    if first <= u <= last: out[top, u] = ("limit", g, kind, lim)
    return out

def frozen(d):
    """A task waits in every scan for 5 s, the kernel counts no wait for I/O, and the device it used before is idle: frozen file system or server."""
    out, seen = {}, collections.defaultdict(list)
    for t in sorted(d.tasks):
        for w in d.tasks[t]:
            if not d.server(w) and w["cgroup"] not in ("/", None): seen[w["pid"], w["cgroup"]].append(t)
    for (pid, g), ts in seen.items():
        for x in [x for x in d.cg if any(w["cgroup"] == g for w in d.cg[x]) and x not in set().union(*[d.below[y] for y in d.cg])]:
            r = d.rows.get(x, {}); idle = [t for t in ts if t in r and r[t]["verdict"] == "idle" and (r[t]["io_pressure_some_pct"] or 0) < 20]
            for run_ in runs(idle, 2.5):
                wrote = [w for w in d.cg[x] if w["cgroup"] == g and run_[0] - 15 <= w["t"] < run_[0] and (w["write_kib_per_s"] or 0) + (w["read_kib_per_s"] or 0) > 0]
                if run_[-1] - run_[0] >= PATIENCE and len(wrote) >= 3:
                    for t in run_: out[x, t] = ("frozen", x)
    return out

def runs(ts, gap):
    out = []
    for t in sorted(ts):
        if out and t - out[-1][-1] <= gap: out[-1].append(t)
        else: out.append([t])
    return out

def episodes(d):
    """Per device and cause: METHOD.md's event rule. Stalls at once; a stated cause that lasts is one; CPU seconds prolong but begin nothing of the device's."""
    lim, ice = limits(d), frozen(d)
    bad = collections.defaultdict(dict)                   # (device, cause) -> {t: word}
    for x in d.rows:
        for t in sorted(d.rows[x]):
            r = d.rows[x][t]; c = cause(d, r)
            moves = (r["reads_per_s"] or 0) + (r["writes_per_s"] or 0) > 0      # what a limit holds back hangs while the others complete
            if c and c[0] == "stalled" and not ((x, t) in lim and c[1] == ("stall",) and moves): pass
            elif (x, t) in lim: c = ("throttled", lim[x, t])
            elif (x, t) in ice: c = ("stalled", ice[x, t])
            if c: r["bad"] = c[1] != ("cpu",); r["stated"] = c[1][0] in STATED; bad[x, c[1]][t] = c[0]
    for (x, c) in [k for k in bad if k[1][0] in ("suspended", "stall")]:   # a stall began with the last completion, if the device always had work
        ts = sorted(d.rows[x]); r = d.rows[x]
        for run_ in runs(bad[x, c], 1.6 * d.step):
            i = ts.index(run_[0])
            while i > 0 and not r[ts[i - 1]]["iops"] and not r[ts[i - 1]].get("bad"): i -= 1
            if i > 10 and sum(bool(r[u]["iops"]) for u in ts[i - 10:i]) >= 9:
                for u in ts[i:ts.index(run_[0])]: bad[x, c][u] = "stalled"
    out = []
    for (x, c), b in bad.items():
        ts = sorted(d.rows[x]); weak = bad.get((x, ("cpu",)), {}) if c[0] == "queue" else {}
        if c[0] == "sync":                                # as long as it lasts: one incident
            on = [u for u in sorted(d.rows[c[1]]) if any(any(f in h for f in SYNC) for h in d.rows[c[1]][u]["health"])]
            groups = [g for o in runs(on, 3 * PATIENCE) if len(g := [u for u in sorted(b) if o[0] <= u <= o[-1]]) > BEGIN]
        elif c[0] in ("stall", "suspended", "frozen", "limit"): groups = [list(g) for g in runs(b, d.step * (PATIENCE + .6 if c[0] == "limit" else 1.6 if c[0] == "stall" else 2.6))]
        else:
            groups, i = [], 0
            while i < len(ts):
                n = [u for u in ts[i:i + BEGIN_OF] if u in b and u - ts[i] < 60]
                if ts[i] in b and (len(n) >= BEGIN or d.rows[x][ts[i]]["elapsed_s"] >= PATIENCE):
                    g, good, cb = [ts[i]], 0, before(d, x, ts[i])
                    was = {k: med([y[k] for y in cb if y[k]]) for k in ("read_await_ms", "write_await_ms")}
                    for j in range(i + 1, len(ts)):
                        r = d.rows[x][ts[j]]
                        if ts[j] in b or ts[j] in weak: g.append(ts[j]); good = 0
                        elif r["queue"] >= 0.5 and not r.get("stated") and any(was[k] and (r[k] or 0) >= ROSE * was[k] for k in was): pass       # not good yet: the latency is still up
                        else: good += 1
                        if good >= (LONG_PATIENCE if r["elapsed_s"] >= PATIENCE else PATIENCE) or r["verdict"] == "stalled" or r["elapsed_s"] > max(GAP, 3 * d.rows[x][ts[j - 1]]["elapsed_s"]): break
                    while g and g[-1] in weak and g[-1] not in b: g.pop()
                    groups.append(g); i = ts.index(g[-1])
                i += 1
        for g in groups: out.append({"device": x, "cause": c, "bad": {u: b.get(u, weak.get(u, "slow")) for u in g}})
    return out

def join(d, eps):
    """Episodes of devices that lie on one another, of one cause, at one time: one incident. CPU seconds beside real trouble are part of it."""
    eps.sort(key=lambda e: min(e["bad"])); out = []
    for e in eps:
        b, z = min(e["bad"]), max(e["bad"])
        for i in out:
            same = i["cause"] == e["cause"] or {i["cause"][0], e["cause"][0]} <= {"queue", "cpu", "used", "capped"} or {i["cause"][0], e["cause"][0]} <= {"stall", "suspended", "frozen"}
            c0, over = e["cause"][0], min(z, i["end"]) - max(b, i["begin"])
            near = over >= -PATIENCE if c0 in STATED else over >= max(-1.5, HALF * min(z - b, i["end"] - i["begin"]) - 1.5) and any(d.stack(e["device"], m) for m in i["members"])
            near |= e["device"] in i["members"] and over >= -PATIENCE and {c0, i["cause"][0]} <= {"queue", "capped"}     # what a device does goes over into the other
            if same and near and not (i["cause"][0] == "cpu" and e["cause"][0] == "queue" and b - i["begin"] > PATIENCE):
                m = i["members"].setdefault(e["device"], {}); m.update({**e["bad"], **m}); i["end"] = max(z, i["end"])
                if i["cause"][0] in ("cpu", "used") and e["cause"][0] in ("queue", "capped") or e["cause"][0] == "suspended": i["cause"] = e["cause"]; i["begin"] = min(i["begin"], b) if b - i["begin"] <= PATIENCE else b
                break
        else: out.append({"cause": e["cause"], "begin": b, "end": z, "members": {e["device"]: dict(e["bad"])}})
    return out

def actors(d, i):
    """Who did more than before: (cgroup, program) -> rise in KiB/s, by the best data there is; newcomers among the waiting if bytes do not tell."""
    b, e, dev, first = i["begin"], i["end"], i["bottleneck"], min(d.t); old, lo, hi = max(first - 1, b - CALM), b - 1, max(e, b + 4)
    kib = lambda w: (w["read_kib_per_s"] or 0) + (w["write_kib_per_s"] or 0); unknown = b - first <= PATIENCE   # begun in the middle: shares, not rises
    told = lambda x: "it has most of the bytes; what was before is not known" if unknown else x
    def rises(groups, scans):                             # KiB/s within the incident less the median of the scans before
        scans = [t for t in sorted(scans) if old <= t < b - 1 and not any(d.rows[m].get(t, {}).get("bad") for m in i["members"])]; out = {}
        for k, ws in groups.items():
            now = sum(kib(w) * max(0, min(hi, w["t"]) - max(lo, w["t"] - w["elapsed_s"])) for w in ws) / (hi - lo); at = collections.Counter()
            for w in ws: at[w["t"]] += kib(w)
            was = med([at[t] for t in scans], 0)
            if now >= MORE * was and now > was and (len(scans) >= 2 or unknown): out[k] = now - was
        return out
    rows = d.rows[dev]; calm = [kib(rows[u]) for u in rows if old <= u < b - 1]
    total = sum(kib(rows[u]) * rows[u]["elapsed_s"] for u in rows if lo < u <= hi) / (hi - lo) - med(calm, 0); more = total > QUARTER * med(calm, 0)
    by, procs = collections.defaultdict(list), collections.defaultdict(list)
    for w in d.cg.get(dev, []):
        if w["cgroup"] not in ("/", None): by[w["cgroup"], w["name"]].append(w)
    up = rises(by, {w["t"] for w in d.cg.get(dev, [])}); known = {w["cgroup"] for x in d.cg for w in d.cg[x]}; here = {w["cgroup"] for x in d.cg if d.stack(x, dev) and d.below.get(x) is not None and (d.below[x] or x == dev or not d.below[dev]) for w in d.cg[x]}
    for w in d.proc:
        if not d.server(w) and not (w["is_of_ended_children"] and w["cgroup"] == "/") and w["cgroup"] and (w["cgroup"] not in known or w["cgroup"] in here): procs[w["cgroup"], w["name"], d.prog(w)].append(w)
    pup = rises(procs, {w["t"] for w in d.proc}); i["scans"] = sum(b - 1 <= t <= e + 1 for t in d.scans)
    best = lambda g: max((k for k in pup if k[0] == g), key=lambda k: (k[2] not in SHELLS and not all(w["is_of_ended_children"] for w in procs[k]), pup[k]), default=(0, 0, None))[2]
    swap = "[SWAP]" in (d.dev.get(dev, {}).get("mountpoints") or [])
    if up and (more or swap) and (g := max(up, key=up.get))[0] != "unattributed" and (up[g] >= HALF * max(total, sum(up.values())) and up[g] > 32 or swap): return g[1], best(g[0]), up[g], told("its bytes on the device rose")
    mine = set(i["members"]) | {x for x in d.rows if any(m in d.below[x] for m in i["members"])}
    key = lambda w: (w["cgroup"], w["name"], d.prog(w)); now, past = collections.Counter(), set()
    for t, ws in d.tasks.items():
        for w in ws:
            if d.server(w) or w["task_device"] not in mine and not (w["task_device"] is None and w["cgroup"] != "/" and i["cause"][0] == "used"): continue
            if b - 1.5 <= t <= e + 1: now[key(w)] += 1
            elif old <= t < b - 1.5 and not any(d.rows[m].get(t, {}).get("bad") for m in i["members"]): past.add(key(w))
    past |= {k for k, ws in procs.items() if any(old <= w["t"] < b - 1.5 and kib(w) > 16 and not any(d.rows[m].get(w["t"], {}).get("bad") for m in i["members"]) for w in ws)}
    new = sorted([(n, k) for k, n in now.items() if k not in past and n >= 2 and k[0]], reverse=True)
    newcomer = None
    if new and b - first > PATIENCE:
        p = new[0][1][2]; newcomer = ", ".join(sorted(k[1] for n, k in new if k[2] == p)), p, 0, "waits on the device since then, not before"
    if newcomer and i["cause"][0] == "used": return newcomer
    pup = {k: v for k, v in pup.items() if k[0] != "/"} or pup
    if pup and more and total > 64:
        comm = collections.Counter()
        for k, v in pup.items(): comm[k[2]] += v
        p, v = comm.most_common(1)[0]
        if v >= HALF * sum(pup.values()) and v >= QUARTER * total:
            return ", ".join(sorted({k[1] for k in pup if k[2] == p and pup[k] >= v / 8})), p, v, told("its bytes rose (processes, read every 5 s)")
    return newcomer

def describe(d, i):
    b, e, mem = i["begin"], i["end"], i["members"]; kind = i["cause"][0]
    for m in mem: mem[m] = {t: w for t, w in mem[m].items() if b <= t <= e} or mem[m]
    depth = lambda x: len(d.below.get(x, ())); n = max(len(v) for v in mem.values()); big = [m for m in mem if len(mem[m]) >= HALF * n]
    mem = i["members"] = {m: v for m, v in mem.items() if len(v) >= QUARTER * n}
    i["bottleneck"] = min(big, key=lambda m: (depth(m), -len(mem[m])))
    i["victim"] = v = max([m for m in mem if len(mem[m]) >= QUARTER * n and d.stack(m, i["bottleneck"])], key=lambda m: (depth(m), len(mem[m])))
    words = collections.Counter(mem[i["bottleneck"]].values()); words.update(mem[v].values() if v != i["bottleneck"] else {}); total = sum(words.values())
    i["word"] = next(w for w in SEVERE if words[w] >= QUARTER * total)
    r = d.rows[v]; bad = [r[t] for t in sorted(mem[v]) if t in r]; calm = before(d, v, b)
    calm = [x for x in calm if (x["iops"] or 0) >= 1]; best = None
    for k in ("read", "write", "flush", "discard"):
        n = sum((x[k + "s_per_s" if k != "flush" else "flushes_per_s"] or 0) for x in bad)
        if not n: continue
        now = sum((x[k + "s_per_s" if k != "flush" else "flushes_per_s"] or 0) * (x[k + "_await_ms"] or 0) for x in bad) / n
        was = med([x[k + "_await_ms"] for x in calm if x[k + "_await_ms"] is not None])
        excess = n * max(0, now - (was if was is not None else now / 2))
        if best is None or excess > best[0]: best = (excess, k, now, was)
    i["kind"], i["now_ms"], i["was_ms"] = best[1:] if best else (None, None, None)
    i["queue"] = sum(x["queue"] for x in bad) / max(1, len(bad)); q = d.rows[i["bottleneck"]]
    b0 = [x for x in before(d, i["bottleneck"], b) if (x["iops"] or 0) >= 1]; during = [q[t] for t in mem[i["bottleneck"]] if t in q]
    i["iops"], i["iops_was"] = med([x["iops"] or 0 for x in during], 0), med([x["iops"] for x in b0])
    kib = lambda x: (x["read_kib_per_s"] or 0) + (x["write_kib_per_s"] or 0); i["kib"], i["kib_was"] = med([kib(x) for x in during], 0), med([kib(x) for x in b0])
    cpu = [d.host[t]["cpu_available_pct"] for t in mem[v] if d.host[t]["cpu_available_pct"] is not None]; starved = cpu and sum(c < NO_CPU for c in cpu) >= .8 * len(cpu)
    swap = "[SWAP]" in (d.dev.get(v, {}).get("mountpoints") or [])
    who = actors(d, i) if kind in ("queue", "used", "capped") else None
    owner = i["owner"] = who and {"cgroup": who[0], "program": who[1], "kib_per_s": round(who[2]), "because": who[3]}
    wait = collections.Counter(); mine = set(mem) | {x for x in d.rows if any(m in d.below[x] for m in mem)}
    for t in sorted(set().union(*mem.values())):
        for w in d.tasks.get(t, []):
            if d.server(w) or owner and d.prog(w) == owner["program"] and w["name"] in (owner["cgroup"] or ""): continue
            if kind == "limit" and w["cgroup"] != i["cause"][1]: continue
            if w["task_device"] in mine or w["task_device"] is None and w["cgroup"] != "/" and any(c["cgroup"] == w["cgroup"] for m in mine | d.below[v] for c in d.cg.get(m, [])): wait[w["name"], d.prog(w)] += 1
    if owner and "before is not" in owner["because"] and not wait: owner = i["owner"] = None       # perhaps it is the victim
    i["waits"] = [f"{p} of {c}" if c != "(root)" else p for (c, p), n in wait.most_common(3) if n >= max(1, QUARTER / 2 * max(wait.values()))]
    tasks = max(1, round(sum(wait.values()) / max(1, sum(t in d.scans for t in set().union(*mem.values())))))
    fell = i["iops_was"] is not None and i["iops"] <= FELL * i["iops_was"] and i["kib"] <= FELL * max(1, i["kib_was"])
    util = med([q[t]["util_pct"] or 0 for t in mem[i["bottleneck"]] if t in q], 100)
    weak = starved and not owner and kind in ("queue", "cpu") and (kind == "cpu" or i["queue"] < FEW or util < BURST)
    if weak: i["cause"] = ("cpu",)
    elif kind in ("queue", "cpu"):
        i["cause"] = ("swap",) if swap else ("capped",) if i["word"] == "capped" and kind == "queue" else ("load",) if owner else ("less",) if fell else ("cpu",) if kind == "cpu" else ("unknown",)
        if i["cause"][0] == "less": i["word"] = "slow"
    elif kind == "used" and swap: i["cause"] = ("swap",)
    i["seconds"] = round(sum(r[t]["elapsed_s"] for t in mem[v])); mult = i["now_ms"] / i["was_ms"] if i["now_ms"] and i["was_ms"] else 2
    i["harm"] = round((e - b + 1 if i["word"] == "stalled" else i["seconds"]) * (1 if i["word"] in ("stalled", "throttled") else max(.1, 1 - 1 / max(1.01, mult))) * min(tasks, 8), 1)
    i["tasks"] = tasks; i["begin_known"] = b - min(d.t) > 1.5; i["ongoing"] = max(d.t) - e < (1.6 * d.step if kind in ("stall", "suspended", "frozen") else PATIENCE)
    i["device_s"] = {m: dict(collections.Counter(w.values())) for m, w in mem.items()}
    return i

def advice(d, i):
    """Only what helps and harms nobody."""
    c, o, dev = i["cause"], i["owner"], i["bottleneck"]
    if c[0] == "limit" and (i["waits"] or i["queue"] >= FEW): return f"unless it is meant, raise the limit of {c[1].strip('/')} on {dev} ({c[2]} {c[3]:.0f})"
    if c[0] == "suspended": return f"resume it: dmsetup resume /dev/{c[1]} (after whoever suspended it)"
    if c[0] == "frozen": return "look for a frozen file system (fsfreeze -u) or a server that does not answer"
    if c[0] == "stall": return f"look at {dev}, its path and what serves it (kernel log)"
    if c[0] == "sync": return f"slow it down: /sys/block/{c[1]}/md/sync_speed_max"
    if c[0] == "swap": return "memory: give more of it, or use less" + (f" ({o['cgroup']})" if o else "")
    if c[0] == "cpu": return "look at the CPU first: none was available"
    if c[0] == "less": return f"look at {dev}: its health, its path, a snapshot, credits or a limit of the cloud or hypervisor"
    others = [w for w in i["waits"] if not o or not any(g in w for g in o["cgroup"].split(", "))]
    if c[0] == "load" and o and others and ".s" in o["cgroup"] and "," not in o["cgroup"] and o["kib_per_s"] and "before is not" not in o["because"]: return f"limit {o['cgroup']} on {dev}, or do it at another time"
    return None

def sentence(d, i):
    al = lambda x: x + (f" {d.dev[x]['alias']}" if d.dev.get(x, {}).get("alias") else ""); o, c, ms = i["owner"], i["cause"], lambda x: f"{x:.3g} ms" if x is not None else "?"
    s = f"{al(i['victim'])} {i['word']} {clock(i['begin_at'])}-{'' if i['ongoing'] else clock(i['end_at'])} ({i['seconds']} s{'' if i['begin_known'] else ', or longer'}): "
    who = (f"{o['program'] or ''} of {o['cgroup']}" if o["cgroup"] != "(root)" else o["program"] or "(root)") if o else None
    same = lambda x: f" at {al(x)}" if x != i["victim"] else ""
    s += {"limit": lambda: f"{c[1].strip('/')} is held at its limit of {c[3]:.0f} {c[2].replace('_iops', 's/s').replace('_', ' ')}", "suspended": lambda: f"{al(c[1])} is suspended", "frozen": lambda: "a task waits and nothing is in flight: file system frozen, or its server does not answer",
          "stall": lambda: f"requests in flight{same(i['bottleneck'])}, none completed", "sync": lambda: f"{al(c[1])} is being checked or rebuilt", "swap": lambda: "swapping" + (f" by {who}" if o else ""), "cpu": lambda: "the host had no CPU available and few requests waited: not the disk first",
          "load": lambda: f"{who}{'' if 'before is not' in o['because'] else ' began'}: {o['because']}" + (f" by {o['kib_per_s'] / 1024:.3g} MiB/s" if o["kib_per_s"] > 100 else "") + same(i["bottleneck"]), "less": lambda: f"{al(i['bottleneck'])} does less than before ({i['iops']:.0f} requests/s, was {i['iops_was']:.0f}), nobody's load rose",
          "used": lambda: "in use all the time" + (f" by {who}" if o else ""), "capped": lambda: "its rate stays constant" + (f" under {who}" if o else "")}.get(c[0], lambda: f"who makes the load is not known ({'there are no cgroups and processes in the recording' if not d.scans else 'cgroups and processes were not read in time' if i['scans'] < HALF * (i['end'] - i['begin']) else 'no rise is seen'})")()
    if i["kind"] and i["word"] != "stalled": s += f"; {i['kind']}{'es' if i['kind'] == 'flush' else 's'} take {ms(i['now_ms'])}" + (f" ({ms(i['was_ms'])} before)" if i["was_ms"] is not None else "") + f", queue {i['queue']:.2g}"
    if i["waits"]: s += "; waiting: " + ", ".join(i["waits"])
    also = [al(m) for m in i["members"] if m not in (i["victim"], i["bottleneck"])]
    return s + (f"; also {', '.join(also)}" if also else "") + (f"; {i['advice']}" if i["advice"] else "")

def main():
    d = Data(sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else float("inf"))
    out = join(d, episodes(d))
    out = [describe(d, i) for i in out]
    others = lambda i: i["waits"] or med([d.host[t]["io_pressure_some_pct"] or 0 for t in i["members"][i["victim"]]], 0) >= USED_PSI
    least = lambda i: MIN_CPU if i["cause"][0] == "cpu" else PATIENCE if i["word"] == "busy" or i["cause"][0] in ("less", "unknown") and not i["owner"] or i["cause"][0] == "load" and not others(i) else 1
    out = [i for i in out if i["seconds"] >= least(i) or i["ongoing"] and i["cause"][0] != "cpu" and i["word"] != "busy"]   # too short to tell, unless it goes on
    for i in out:
        at = lambda t: next(r["time_s"] if r["time_s"] is not None else r["t"] for r in [d.host[t]])
        i["begin_at"], i["end_at"], i["advice"] = at(i["begin"]) - d.host[i["begin"]]["elapsed_s"], at(i["begin"]) + i["end"] - i["begin"], advice(d, i)
        i["text"] = sentence(d, i)
    out.sort(key=lambda i: (i["cause"][0] == "cpu", i["word"] == "busy", -i["harm"]))
    cpu = [h["cpu_available_pct"] for h in d.host.values() if h["cpu_available_pct"] is not None]
    if cpu and sum(c < NO_CPU for c in cpu) >= HALF * len(cpu): d.facts_of_host.append(f"CPU: none available in {100 * sum(c < NO_CPU for c in cpu) / len(cpu):.0f}% of the seconds")
    swap = sum(d.swapped.values()) / max(1, len(d.swapped))
    if swap >= 20: d.facts_of_host.append(f"swap: {swap:.0f} pages/s")
    if d.scans and len(d.scans) < .4 * len(d.t): d.facts_of_host.append(f"cgroups and processes were read in {len(d.scans)} of {len(d.t)} seconds only")
    keep = ("begin_at", "end_at", "ongoing", "begin_known", "victim", "bottleneck", "word", "cause", "owner", "waits", "advice", "seconds", "kind", "now_ms", "was_ms", "queue", "iops", "iops_was", "harm", "device_s", "text")
    print(json.dumps({"incidents": [{k: i[k] for k in keep} for i in out], "host": list(dict.fromkeys(d.facts_of_host))}, indent=1, default=str))
    for x in list(dict.fromkeys(d.facts_of_host)) + [i["text"] for i in out]: print(x, file=sys.stderr)
if __name__ == "__main__": main()
