//! Masks what depends on the time and the host of a run, so that runs can be compared.

/// Replaces each digit of a date or time of day by `N`, but not those of a zone.
pub(crate) fn times(text: &str) -> String {
    text.split_inclusive('\n')
        .enumerate()
        .map(|(number, line)| times_of_line(number, line))
        .collect()
}

fn times_of_line(number: usize, line: &str) -> String {
    let member = ["\"date\": \"", "\"timestamp\": \""]
        .iter()
        .find_map(|key| Some(line.find(key)? + key.len()));
    if let Some(start) = member {
        return digits_after(line, start);
    }
    if number == 0 && line.starts_with("Linux ") {
        let date = line.find('\t').unwrap_or(line.len());
        let end = line[date..].find("\t_").map_or(line.len(), |at| date + at);
        return format!("{}{}", digits_after(&line[..end], date), &line[end..]);
    }
    if is_timestamp(line) {
        digits_after(line, 0)
    } else {
        line.to_owned()
    }
}

/// Returns whether the line is like `11/20/26 19:30:01` or `2026-11-20T19:30:01+0000`.
fn is_timestamp(line: &str) -> bool {
    let shape: String = line
        .chars()
        .map(|c| if c.is_ascii_digit() { 'N' } else { c })
        .collect();
    shape.starts_with("NN/NN/NN NN:NN:NN") || shape.starts_with("NNNN-NN-NNTNN:NN:NN")
}

/// Masks the digits from an index on, up to a zone.
fn digits_after(line: &str, start: usize) -> String {
    let time = line[start..].find('T').map_or(start, |t| start + t);
    let zone = line[time..]
        .find(['+', '-'])
        .filter(|_| time > start)
        .map_or(line.len(), |z| time + z);
    let masked: String = line[start..zone]
        .chars()
        .map(|c| if c.is_ascii_digit() { 'N' } else { c })
        .collect();
    format!("{}{masked}{}", &line[..start], &line[zone..])
}

/// Replaces the description of the host in the heading by placeholders.
pub(crate) fn machine(text: &str) -> String {
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(first) = lines.first_mut().filter(|line| line.starts_with("Linux ")) {
        let date = first.split('\t').nth(1).unwrap_or("").to_owned();
        *first = format!("Linux RELEASE (HOST) \t{date}\t_HARDWARE_\t(CPUS CPU)\n");
    }
    for line in &mut lines {
        for (key, name) in [
            ("\"nodename\": ", "\"HOST\""),
            ("\"release\": ", "\"RELEASE\""),
            ("\"machine\": ", "\"HARDWARE\""),
            ("\"number-of-cpus\": ", "CPUS"),
        ] {
            if let Some(at) = line.find(key) {
                *line = format!("{}{key}{name},\n", &line[..at]);
            }
        }
    }
    lines.concat()
}
