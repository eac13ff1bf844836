//! The processes of `load sendfile`: their arguments, and what they do with the ends of a connection.

use std::ffi::OsString;
use std::io::{self, Write};

use super::pair::{Sender, Server};
use super::window::{Done, work};
use super::worker::{Home, Worker, serve};

/// Before the port, on the line a server writes before it is ready.
pub(super) const PORT: &str = "port ";

/// Arguments of a server.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct ServerArgs {
    #[command(flatten)]
    pub(super) home: Home,
}

impl Worker for ServerArgs {
    const NAME: &'static str = "server";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        Vec::new()
    }
}

/// Arguments of a client.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct ClientArgs {
    #[command(flatten)]
    pub(super) home: Home,
    /// Where its server listens.
    #[arg(long, value_name = "PORT")]
    pub(super) port: u16,
    /// Bytes of a message.
    #[arg(long, value_name = "BYTES")]
    pub(super) message: u64,
}

impl Worker for ClientArgs {
    const NAME: &'static str = "client";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        let (port, message) = (self.port.to_string(), self.message.to_string());
        ["--port", &port, "--message", &message].map(OsString::from).into()
    }
}

/// Body of a server process: says its port, is ready when its client is there, and gives what it received.
pub(crate) fn server_main(args: &ServerArgs) -> anyhow::Result<()> {
    serve(
        || {
            // Sockets are charged to the cgroup in which they are made.
            args.home.enter(c"rstat-server")?;
            let server = Server::listen()?;
            writeln!(io::stdout(), "{PORT}{}", server.port()?)?;
            server.accept()
        },
        |mut receiver| work(io::stdin(), |watch| receiver.receive(watch)),
    )
}

/// Body of a client process. What it sent is no figure: some of it is never received.
pub(crate) fn client_main(args: &ClientArgs) -> anyhow::Result<()> {
    serve(
        || {
            args.home.enter(c"rstat-client")?;
            Sender::connect(args.port, args.message)
        },
        |sender| work(io::stdin(), |watch| sender.send(watch).map(|()| Done::default())),
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::worker::{WorkerCommand, tests::parsed};
    use super::*;

    #[test]
    fn the_command_lines_parse_to_what_they_were_made_from() {
        let home = || Home::in_cgroups([Path::new("/a b/c")]);
        let server = ServerArgs { home: home() };
        let WorkerCommand::Server(args) = parsed(&server) else { panic!("no server") };
        assert_eq!(args, server);
        let client = ClientArgs { home: home(), port: u16::MAX, message: u64::MAX };
        let WorkerCommand::Client(args) = parsed(&client) else { panic!("no client") };
        assert_eq!(args, client);
    }
}
