//! The shim: functions in C that call the machine's MPI library, loaded at run time. Their source is
//! `python/cutthrough/processes/source/shim.c`. All unsafe code of the project is here.

#![allow(unsafe_code, reason = "functions of a C library are called")]

use std::ffi::{CStr, c_char, c_double, c_int, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};

use crate::ProcessesError;

/// Bytes of a text that the shim writes.
const TEXT: usize = 8192;

macro_rules! functions {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// Functions of the shim.
        struct Functions {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
        }

        impl Functions {
            /// Finds all functions of a library.
            ///
            /// # Safety
            /// The library must be the shim: its functions must have these types. The result may be used only while the
            /// library is loaded.
            unsafe fn find(library: &Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller promises that the functions have these types.
                unsafe { Ok(Self { $($name: *library.get(concat!("cutthrough_", stringify!($name), "\0").as_bytes())?,)+ }) }
            }
        }
    };
}

functions! {
    library: fn(*mut c_char, c_int);
    error: fn(c_int, *mut c_char, c_int);
    open: fn(*mut *mut c_void) -> c_int;
    close: fn(*mut c_void) -> c_int;
    abort: fn(*mut c_void, c_int);
    rank: fn(*mut c_void) -> c_int;
    size: fn(*mut c_void) -> c_int;
    local_size: fn(*mut c_void) -> c_int;
    seconds: fn() -> c_double;
    send: fn(*mut c_void, c_int, c_int, *const c_void, c_int) -> c_int;
    probe: fn(*mut c_void, c_int, c_int, *mut c_int) -> c_int;
    receive: fn(*mut c_void, *mut c_void, c_int) -> c_int;
    reduce: fn(*mut c_void, *mut u64, c_int, c_int) -> c_int;
    broadcast: fn(*mut c_void, *mut c_void, c_int) -> c_int;
    done: fn(*mut c_void) -> c_int;
}

/// Loaded shim, and its communicator of all processes.
///
/// Every method that begins an operation on memory waits for its end before it returns, so that no memory is in use
/// afterwards. `wait` is called with the time in seconds between two questions whether it has ended.
pub(crate) struct Shim {
    functions: Functions,
    /// Communicator. Null once it is closed.
    handle: *mut c_void,
    /// Keeps the functions loaded. Never unloaded, since MPI libraries may have threads and handlers of their own.
    _library: ManuallyDrop<Library>,
}

// SAFETY: the shim requires that threads call in turn, not that one thread calls, since MPI is initialized with
// MPI_THREAD_SERIALIZED. Methods take `&mut self` except `seconds`, which reads a clock.
unsafe impl Send for Shim {}

/// Message of another process that is sent while others are received.
pub(crate) struct Outgoing<'a> {
    pub to: usize,
    pub tag: c_int,
    pub data: &'a [u8],
}

type Done<T> = Result<T, String>;

impl Shim {
    /// Loads a shim without initializing MPI. Returns the name and the version of the MPI library that it loads.
    ///
    /// # Errors
    /// If the file is not a shim, or if the MPI library that it needs cannot be loaded.
    pub fn library(path: &Path) -> Result<String, ProcessesError> {
        let (_library, functions) = load(path)?;
        let mut text = [0; TEXT];
        // SAFETY: the shim writes at most `TEXT` bytes, a 0 included, to `text`, and needs no communicator.
        unsafe { (functions.library)(text.as_mut_ptr(), TEXT as c_int) };
        Ok(text_of(&text))
    }

    /// Loads a shim, initializes MPI unless it is initialized, and makes the communicator.
    ///
    /// # Errors
    /// If the shim cannot be loaded, or if MPI refuses.
    pub fn open(path: &Path) -> Result<Self, ProcessesError> {
        let (library, functions) = load(path)?;
        let mut shim = Self { functions, handle: std::ptr::null_mut(), _library: ManuallyDrop::new(library) };
        // SAFETY: the shim writes one pointer to `handle`, if it returns 0.
        let status = unsafe { (shim.functions.open)(&raw mut shim.handle) };
        match status {
            0 => Ok(shim),
            1 => Err(ProcessesError::Threads),
            2 => Err(ProcessesError::Mpi("there is no memory".to_owned())),
            error => Err(ProcessesError::Mpi(shim.text(error))),
        }
    }

    /// Returns the text of a negative status.
    fn text(&self, status: c_int) -> String {
        let mut text = [0; TEXT];
        // SAFETY: the shim writes at most `TEXT` bytes, a 0 included, to `text`.
        unsafe { (self.functions.error)(status, text.as_mut_ptr(), TEXT as c_int) };
        text_of(&text)
    }

    /// Returns a status of 0 or more, or the error that a negative one stands for.
    fn checked(&self, status: c_int) -> Done<usize> {
        usize::try_from(status).map_err(|_| self.text(status))
    }

    /// Returns the rank of this process, the number of processes, and the number of processes on this node.
    pub fn places(&mut self) -> Done<[usize; 3]> {
        let Functions { rank, size, local_size, .. } = self.functions;
        // SAFETY: `handle` is an open communicator.
        let all = unsafe { [rank(self.handle), size(self.handle), local_size(self.handle)] };
        Ok([self.checked(all[0])?, self.checked(all[1])?, self.checked(all[2])?])
    }

    /// Returns the time of MPI's clock, in seconds.
    pub fn seconds(&self) -> f64 {
        // SAFETY: MPI is initialized. The clock may be read by any thread.
        unsafe { (self.functions.seconds)() }
    }

    /// Ends all processes.
    pub fn abort(&mut self) -> ! {
        // SAFETY: `handle` is an open communicator.
        unsafe { (self.functions.abort)(self.handle, 1) };
        std::process::abort()
    }

    /// Frees the communicator, and finalizes MPI if `open` has initialized it.
    pub fn close(mut self) -> Done<()> {
        let handle = std::mem::replace(&mut self.handle, std::ptr::null_mut());
        // SAFETY: `handle` is an open communicator, and is not used again.
        let status = unsafe { (self.functions.close)(handle) };
        self.checked(status).map(|_| ())
    }

    /// Sends messages, and receives what `receive` asks for. `receive(shim)` returns whether all has been received.
    pub fn transfer(
        &mut self,
        outgoing: &[Outgoing<'_>],
        mut receive: impl FnMut(&mut Self) -> Done<bool>,
        mut wait: impl FnMut(f64),
    ) -> Done<()> {
        let mut begun = Ok(());
        for Outgoing { to, tag, data } in outgoing {
            let bytes = length(data.len())?;
            // SAFETY: `data` outlives the operation, since this function waits for its end below before it returns,
            // and nobody changes it meanwhile.
            let status = unsafe { (self.functions.send)(self.handle, *to as c_int, *tag, data.as_ptr().cast(), bytes) };
            begun = begun.and(self.checked(status).map(|_| ()));
        }
        let mut has_all = false;
        while begun.is_ok() && !has_all {
            match receive(self) {
                Ok(received) => has_all = received,
                Err(error) => begun = Err(error),
            }
            if !has_all {
                wait(self.seconds());
            }
        }
        // An error ends the process: memory is not freed while it is in use.
        begun?;
        self.finish(wait)
    }

    /// Waits until all operations have ended.
    fn finish(&mut self, mut wait: impl FnMut(f64)) -> Done<()> {
        loop {
            // SAFETY: `handle` is an open communicator.
            let status = unsafe { (self.functions.done)(self.handle) };
            if self.checked(status)? == 1 {
                return Ok(());
            }
            wait(self.seconds());
        }
    }

    /// Receives a message of a process into `data`, replacing it, if one has come. Returns whether it has.
    pub fn receive(&mut self, from: usize, tag: c_int, data: &mut Vec<u8>) -> Done<bool> {
        let mut bytes = 0;
        // SAFETY: the shim writes one number to `bytes`.
        let status = unsafe { (self.functions.probe)(self.handle, from as c_int, tag, &raw mut bytes) };
        if self.checked(status)? == 0 {
            return Ok(false);
        }
        data.clear();
        data.resize(usize::try_from(bytes).unwrap_or_default(), 0);
        // SAFETY: `data` has room for the message that has been found, which is received before the function returns.
        let status = unsafe { (self.functions.receive)(self.handle, data.as_mut_ptr().cast(), bytes) };
        self.checked(status).map(|_| true)
    }

    /// Replaces numbers by their sums or maxima over all processes.
    pub fn reduce(&mut self, values: &mut [u64], maximum: bool, wait: impl FnMut(f64)) -> Done<()> {
        let count = length(values.len())?;
        // SAFETY: `values` are borrowed until `finish` has seen the end of the operation.
        let status = unsafe { (self.functions.reduce)(self.handle, values.as_mut_ptr(), count, c_int::from(maximum)) };
        self.checked(status)?;
        self.finish(wait)
    }

    /// Replaces data by those of process 0. All processes have equal lengths.
    pub fn broadcast(&mut self, data: &mut [u8], wait: impl FnMut(f64)) -> Done<()> {
        let bytes = length(data.len())?;
        // SAFETY: `data` are borrowed until `finish` has seen the end of the operation.
        let status = unsafe { (self.functions.broadcast)(self.handle, data.as_mut_ptr().cast(), bytes) };
        self.checked(status)?;
        self.finish(wait)
    }
}

impl std::fmt::Debug for Shim {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shim").finish_non_exhaustive()
    }
}

/// Loads a library and finds the functions of the shim in it.
fn load(path: &Path) -> Result<(Library, Functions), ProcessesError> {
    let refused = |error: &libloading::Error| ProcessesError::Load(path.display().to_string(), error.to_string());
    // Plug-ins of MPI libraries look for the symbols of the library among the global ones.
    // SAFETY: the file has been compiled from the shim's source, or the user has named it. The initializers of MPI
    // libraries may run in any thread.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_GLOBAL) }.map_err(|error| refused(&error))?;
    // SAFETY: as above; the functions are kept together with the library.
    let functions = unsafe { Functions::find(&library) }.map_err(|error| refused(&error))?;
    Ok((library, functions))
}

/// Returns the length of a message as MPI counts it.
fn length(of: usize) -> Done<c_int> {
    c_int::try_from(of)
        .map_err(|_| format!("a message of {of} entries is too long for MPI: up to 2^31 - 1 are possible"))
}

/// Returns a text that the shim has written.
fn text_of(text: &[c_char]) -> String {
    let bytes: Vec<u8> = text.iter().map(|&byte| byte.to_ne_bytes()[0]).collect();
    CStr::from_bytes_until_nul(&bytes).map_or_else(|_| String::new(), |text| text.to_string_lossy().trim().to_owned())
}
