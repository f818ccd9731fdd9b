//! Catches the signals that request the end of the program.

use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use nix::sys::signal::{SigSet, SigmaskHow, Signal};
use signal_hook::consts::{
    SIGABRT, SIGALRM, SIGCONT, SIGHUP, SIGINT, SIGIO, SIGPROF, SIGQUIT, SIGTERM, SIGTSTP, SIGUSR1,
    SIGUSR2, SIGVTALRM, SIGWINCH, SIGXCPU, SIGXFSZ,
};

/// The further signals that end a program, which may have to restore its terminal before.
pub const FATAL: [i32; 10] = [
    SIGHUP, SIGQUIT, SIGABRT, SIGALRM, SIGUSR1, SIGUSR2, SIGIO, SIGPROF, SIGVTALRM, SIGXCPU,
];

/// Records a SIGINT or SIGTERM, or one of [`FATAL`] if requested, and can be polled: it becomes readable when one is received.
///
/// A second signal ends the program at once, unless the first one was taken note of with [`Signals::clear`]: a long computation
/// looks for signals only now and then.
pub struct Signals {
    pipe: UnixStream,
    last: Arc<AtomicUsize>,
    /// True once a signal was received.
    is_ending: Arc<AtomicBool>,
}

impl Signals {
    /// Installs handlers for SIGINT, SIGTERM and `further` signals, which from then on no longer end the program by themselves.
    ///
    /// # Errors
    /// If no file descriptors are left, or a handler cannot be installed.
    pub fn catch(further: &[i32]) -> io::Result<Self> {
        // Signals are blocked meanwhile, because one between the installation of two handlers would be lost.
        let all = SigSet::from_iter([Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP]);
        let before = all.thread_swap_mask(SigmaskHow::SIG_BLOCK)?;
        let caught = Self::register(further);
        before.thread_set_mask()?;
        caught
    }

    fn register(further: &[i32]) -> io::Result<Self> {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        let last = Arc::new(AtomicUsize::new(0));
        let is_ending = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGTERM].into_iter().chain(further.iter().copied()) {
            // The actions follow each other in this order.
            signal_hook::flag::register_conditional_default(signal, Arc::clone(&is_ending))?;
            signal_hook::flag::register(signal, Arc::clone(&is_ending))?;
            signal_hook::flag::register_usize(
                signal,
                Arc::clone(&last),
                signal.unsigned_abs() as usize,
            )?;
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        // A write beyond the limit of a file's size is then an error instead of the end of the program.
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        Ok(Self {
            pipe,
            last,
            is_ending,
        })
    }

    /// Returns signals that are not those of the process, for a thread: dropping the other half counts as SIGTERM.
    ///
    /// # Errors
    /// If no file descriptors are left.
    pub fn of_thread() -> io::Result<(Self, StopOnDrop)> {
        let (pipe, other) = UnixStream::pair()?;
        let last = Arc::new(AtomicUsize::new(0));
        Ok((
            Self {
                pipe,
                last: Arc::clone(&last),
                is_ending: Arc::default(),
            },
            StopOnDrop { last, _pipe: other },
        ))
    }

    /// Returns the number of the signal received last; `None` if there was none.
    pub fn received(&self) -> Option<u8> {
        u8::try_from(self.last.load(Ordering::SeqCst))
            .ok()
            .filter(|signal| *signal != 0)
    }

    /// Forgets the signals received, so that the next one can be noticed.
    pub fn clear(&self) {
        self.last.store(0, Ordering::SeqCst);
        self.is_ending.store(false, Ordering::SeqCst);
        // Reads one byte per signal until the pipe is empty.
        while matches!((&self.pipe).read(&mut [0; 64]), Ok(1..)) {}
    }

    /// Lets the next signal end the program at once, from where on nothing looks for signals.
    pub fn end_at_next(&self) {
        self.is_ending.store(true, Ordering::SeqCst);
    }
}

/// The other half of [`Signals::of_thread`].
pub struct StopOnDrop {
    last: Arc<AtomicUsize>,
    /// Closing it ends a wait.
    _pipe: UnixStream,
}

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.last
            .store(SIGTERM.unsigned_abs() as usize, Ordering::SeqCst);
    }
}

/// Records the signals that matter to a full screen, and can be polled: it becomes readable when one is received.
pub struct ScreenSignals {
    pipe: UnixStream,
    hangup: Arc<AtomicBool>,
    stop: Arc<AtomicBool>,
}

impl ScreenSignals {
    /// Installs handlers for SIGHUP, SIGTSTP, SIGCONT and SIGWINCH.
    ///
    /// # Errors
    /// If no file descriptors are left, or a handler cannot be installed.
    pub fn catch() -> io::Result<Self> {
        let (pipe, write) = UnixStream::pair()?;
        pipe.set_nonblocking(true)?;
        write.set_nonblocking(true)?;
        let (hangup, stop) = (
            Arc::new(AtomicBool::new(false)),
            Arc::new(AtomicBool::new(false)),
        );
        signal_hook::flag::register(SIGHUP, Arc::clone(&hangup))?;
        signal_hook::flag::register(SIGTSTP, Arc::clone(&stop))?;
        for signal in [SIGHUP, SIGTSTP, SIGCONT, SIGWINCH] {
            signal_hook::low_level::pipe::register(signal, write.try_clone()?)?;
        }
        Ok(Self { pipe, hangup, stop })
    }

    /// Forgets the signals received, so that the next one can be noticed.
    pub fn clear(&self) {
        while matches!((&self.pipe).read(&mut [0; 64]), Ok(1..)) {}
    }

    /// Returns whether the terminal was closed.
    pub fn has_hung_up(&self) -> bool {
        self.hangup.load(Ordering::SeqCst)
    }

    /// Returns whether the program must be suspended: true once for each request.
    pub fn take_stop(&self) -> bool {
        self.stop.swap(false, Ordering::SeqCst)
    }
}

impl AsFd for ScreenSignals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}

/// Stops the program, as Ctrl-Z does by default, until it is continued.
pub fn suspend_process() {
    // An error leaves the program running.
    let _ = signal_hook::low_level::emulate_default_handler(SIGTSTP);
}

/// Ends the program at once, as this signal does by default, even while a thread waits for a disk that does not answer.
/// Returns only if that fails.
pub fn end_process(signal: u8) {
    // After an error, the program goes on as if there had been no signal.
    let _ = signal_hook::low_level::emulate_default_handler(signal.into());
}

impl AsFd for Signals {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.pipe.as_fd()
    }
}
