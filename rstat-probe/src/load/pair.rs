//! The two processes of a pair: a server that receives and counts, and a client that sends messages with sendfile(2).
//!
//! Nothing of a pair stays: the file is a memory file, and closing the connection resets it, so that not even its
//! TIME_WAIT remains.

use std::fs::File;
use std::io::{self, Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

use anyhow::{Context, ensure};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::Errno;
use rustix::net::sockopt::set_socket_linger;

use super::window::{Done, Watch, now_ns};

/// How long a read or a write may wait before it is looked whether the window is over.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Bytes per read, half of what a TCP socket holds at first: few system calls, as netperf's.
const BUFFER: usize = 64 * 1024;
/// Messages in the file, unless they would take more than [`FILE_BYTES`].
const FILE_MESSAGES: u64 = 64;
const FILE_BYTES: u64 = 1024 * 1024;

/// Where the servers listen.
fn loopback(port: u16) -> SocketAddr {
    (Ipv6Addr::LOCALHOST, port).into()
}

/// Makes sure that this host has the IPv6 loopback.
pub(super) fn check_loopback() -> anyhow::Result<()> {
    let reason = "the IPv6 loopback address ::1 cannot be used, and this load sends through it ('ip -6 addr show lo' \
                  must list it: bring lo up, and IPv6 on with 'sysctl net.ipv6.conf.lo.disable_ipv6=0')";
    TcpListener::bind(loopback(0)).map(drop).context(reason)
}

/// Bytes of the file that messages of this size are sent from: whole messages.
pub(super) fn file_bytes(message: u64) -> u64 {
    message * (FILE_BYTES / message.max(1)).clamp(1, FILE_MESSAGES)
}

/// A server that listens but has no client yet.
pub(super) struct Server(TcpListener);

impl Server {
    /// Listens on a port that the kernel chooses.
    pub(super) fn listen() -> anyhow::Result<Self> {
        TcpListener::bind(loopback(0)).context("cannot listen on ::1").map(Self)
    }

    /// The port for the client.
    pub(super) fn port(&self) -> anyhow::Result<u16> {
        Ok(self.0.local_addr().context("cannot ask for the port")?.port())
    }

    /// Waits for the client.
    pub(super) fn accept(self) -> anyhow::Result<Receiver> {
        let (stream, _) = self.0.accept().context("cannot accept the client")?;
        prepare(&stream)?;
        stream.set_read_timeout(Some(LOOK_EVERY)).context("cannot set the time limit of reads")?;
        Ok(Receiver(stream))
    }
}

/// The server's end of a connection.
pub(super) struct Receiver(TcpStream);

impl Receiver {
    /// Counts the bytes that arrive in the window.
    pub(super) fn receive(&mut self, watch: &Watch) -> anyhow::Result<Done> {
        let mut buffer = vec![0; BUFFER];
        let mut amount = 0;
        while watch.goes_on() {
            match self.0.read(&mut buffer) {
                Ok(0) => break,
                // What came after the end belongs to nobody.
                Ok(length) if watch.goes_on() => amount += length as u64,
                Ok(_) => {}
                Err(error) if goes_on_after(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error).context("cannot receive"),
            }
        }
        Ok(Done { amount, elapsed_ns: watch.window.elapsed_ns(now_ns()) })
    }
}

/// The client's end of a connection, and the file.
pub(super) struct Sender {
    stream: TcpStream,
    file: File,
    message: u64,
    length: u64,
}

impl Sender {
    /// Connects and fills the file.
    pub(super) fn connect(port: u16, message: u64) -> anyhow::Result<Self> {
        ensure!(message > 0, "messages of 0 bytes send nothing");
        let stream =
            TcpStream::connect(loopback(port)).with_context(|| format!("cannot connect to [::1]:{port}"))?;
        prepare(&stream)?;
        stream.set_write_timeout(Some(LOOK_EVERY)).context("cannot set the time limit of writes")?;
        let memory =
            memfd_create("rstat-sendfile", MemfdFlags::CLOEXEC).context("cannot make a memory file")?;
        let mut file = File::from(memory);
        let length = file_bytes(message);
        // Holes would all be the one page of zeros.
        let bytes = vec![0x5a; usize::try_from(length).context("the file is too long")?];
        file.write_all(&bytes).context("cannot fill the memory file")?;
        Ok(Self { stream, file, message, length })
    }

    /// Sends in the window.
    pub(super) fn send(&self, watch: &Watch) -> anyhow::Result<()> {
        let message = usize::try_from(self.message).context("the messages are too long")?;
        let mut offset = 0;
        while watch.goes_on() {
            if offset + self.message > self.length {
                offset = 0;
            }
            match sendfile(&self.stream, &self.file, Some(&mut offset), message) {
                Ok(_) | Err(Errno::AGAIN | Errno::INTR) => {}
                Err(Errno::PIPE | Errno::CONNRESET) => break,
                Err(error) => return Err(error).context("cannot send with sendfile"),
            }
        }
        Ok(())
    }
}

/// Closing the connection is to leave nothing in the kernel.
fn prepare(stream: &TcpStream) -> anyhow::Result<()> {
    set_socket_linger(stream, Some(Duration::ZERO)).context("cannot prepare the socket")
}

/// Whether a read only failed for now.
fn goes_on_after(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::super::window::Window;
    use super::*;

    /// A pair in two threads: what was received.
    fn pair(message: u64, window: Window) -> Done {
        let watch = || {
            let (input, mut output) = io::pipe().unwrap();
            writeln!(output, "{window}").unwrap();
            (Watch::begin(input).unwrap().unwrap(), output)
        };
        let server = Server::listen().unwrap();
        let port = server.port().unwrap();
        thread::scope(|scope| {
            let client = scope.spawn(move || {
                let sender = Sender::connect(port, message).unwrap();
                let (watch, _open) = watch();
                sender.send(&watch).unwrap();
                // The kernel forgets what was sent when it is closed.
                thread::sleep(Duration::from_millis(20));
            });
            let mut receiver = server.accept().unwrap();
            let (watch, _open) = watch();
            let done = receiver.receive(&watch).unwrap();
            client.join().unwrap();
            done
        })
    }

    #[test]
    fn bytes_arrive_in_the_window_and_only_there() {
        if check_loopback().is_err() {
            return eprintln!("SKIPPED: needs the IPv6 loopback: bytes_arrive_in_the_window");
        }
        for message in [1, 10 * 1024, 1024 * 1024] {
            let window = Window::after(Duration::from_millis(50), Duration::from_millis(100));
            let done = pair(message, window);
            assert!(done.amount > 1000 * message.min(100), "{message}: {done:?}");
            assert_eq!(done.elapsed_ns, window.elapsed_ns(u64::MAX));
        }
        let over = Window::after(Duration::ZERO, Duration::ZERO);
        assert_eq!(pair(1024, over), Done::default());
    }

    #[test]
    fn files_hold_whole_messages() {
        for (message, bytes) in [
            (1, 64),
            (10 * 1024, 640 * 1024),
            (100_000, 1_000_000),
            (1024 * 1024, 1024 * 1024),
            (3 << 20, 3 << 20),
        ] {
            assert_eq!(file_bytes(message), bytes, "{message}");
            assert_eq!(file_bytes(message) % message, 0);
        }
    }

    #[test]
    fn nobody_listens() {
        if check_loopback().is_err() {
            return eprintln!("SKIPPED: needs the IPv6 loopback: nobody_listens");
        }
        let port = {
            let server = Server::listen().unwrap();
            server.port().unwrap()
        };
        let error = Sender::connect(port, 1).err().unwrap();
        assert!(format!("{error:#}").starts_with(&format!("cannot connect to [::1]:{port}: ")), "{error:#}");
    }
}
