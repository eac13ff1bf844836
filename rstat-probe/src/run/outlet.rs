//! Outputs behind threads: a reader that stops reading must not stop the measurement.

use std::{
    io,
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{self, SyncSender, TrySendError},
    },
    thread,
};

use tokio::sync::oneshot;

/// Chunks that may wait for a slow reader before new ones are dropped.
const WAITING: usize = 1024;

/// Standard output, or a file or pipe.
pub(crate) struct Outlet {
    chunks: Option<SyncSender<Vec<u8>>>,
    error: Arc<Mutex<Option<io::Error>>>,
    done: oneshot::Receiver<()>,
    dropped: u64,
}

impl Outlet {
    /// Starts a thread that writes to `out`.
    pub(crate) fn start(mut out: impl io::Write + Send + 'static) -> Self {
        let (chunks, receiver) = mpsc::sync_channel::<Vec<u8>>(WAITING);
        let (finished, done) = oneshot::channel();
        let error = Arc::new(Mutex::new(None));
        let seen = Arc::clone(&error);
        thread::spawn(move || {
            for chunk in receiver {
                // One write a chunk: if the process is killed, no half of one stays behind.
                if let Err(error) = out.write_all(&chunk).and_then(|()| out.flush()) {
                    *seen.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
                    break;
                }
            }
            // Nobody waits any more when the process ends first.
            let _ = finished.send(());
        });
        Self { chunks: Some(chunks), error, done, dropped: 0 }
    }

    /// Prints `chunk` as soon as the reader takes it; drops it when too much waits already.
    pub(crate) fn print(&mut self, chunk: Vec<u8>) {
        let Some(chunks) = &self.chunks else { return };
        match chunks.try_send(chunk) {
            Ok(()) => {}
            Err(TrySendError::Full(_)) => self.dropped += 1,
            Err(TrySendError::Disconnected(_)) => self.chunks = None,
        }
    }

    /// Whether writing failed.
    pub(crate) fn failed(&self) -> bool {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    /// Waits until everything is written. Returns the chunks that were dropped.
    ///
    /// # Errors
    /// The first error of the output.
    pub(crate) async fn finish(mut self) -> io::Result<u64> {
        self.chunks = None;
        // An error here means that the thread ended, which is what this waits for.
        let _ = self.done.await;
        let error = self.error.lock().unwrap_or_else(PoisonError::into_inner).take();
        error.map_or(Ok(self.dropped), Err)
    }
}
