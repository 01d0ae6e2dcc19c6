//! nginx, Caddy and `HAProxy`.
//!
//! Each runs as whoever runs the test, in a folder of its own in which everything it writes is kept, on a port that it is
//! given. Its configuration is what somebody would write who uses it; what only a test needs (that it stays in the
//! foreground, where it may write) is added here.

mod listeners;
mod process;
mod program;

pub use process::{Place, Running};

use program::find;

/// Where nginx may write: within its folder rather than where its package says.
const TEMPORARY: &str = "  client_body_temp_path body;\n  proxy_temp_path proxy;\n  fastcgi_temp_path fastcgi;\n  \
                         uwsgi_temp_path uwsgi;\n  scgi_temp_path scgi;\n";

/// Starts nginx with what stands within `http { … }`.
pub fn nginx(server: impl Fn(&Place) -> String) -> Running {
    Running::start("nginx", |place| {
        // As root it would answer as somebody else, who may not read the folder.
        let user = if rustix::process::getuid().is_root() { "user root;\n" } else { "" };
        let config = format!(
            "{user}daemon off;\nworker_processes 1;\npid nginx.pid;\nerror_log stderr info;\n\
             events {{ worker_connections 256; }}\nhttp {{\n  access_log off;\n{TEMPORARY}{}\n}}\n",
            server(place)
        );
        place.write("nginx.conf", config);
        let mut command = find("nginx");
        command.arg("-p").arg(place.folder()).args(["-c", "nginx.conf", "-e", "stderr"]);
        command
    })
}

/// Starts Caddy with the sites of a Caddyfile.
pub fn caddy(sites: impl Fn(&Place) -> String) -> Running {
    Running::start("caddy", |place| {
        let folder = place.folder().display();
        let options =
            format!("{{\n  admin off\n  auto_https off\n  storage file_system {folder}/storage\n}}\n");
        place.write("Caddyfile", format!("{options}{}", sites(place)));
        let mut command = find("caddy");
        command.args(["run", "--adapter", "caddyfile", "--config", "Caddyfile"]);
        for variable in ["HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"] {
            command.env(variable, place.folder());
        }
        command
    })
}

/// Starts `HAProxy` with a whole configuration; files that it names are put into the place by whoever gives it.
pub fn haproxy(config: impl Fn(&Place) -> String) -> Running {
    Running::start("haproxy", |place| {
        place.write("haproxy.cfg", config(place));
        let mut command = find("haproxy");
        command.args(["-db", "-f", "haproxy.cfg"]);
        command
    })
}
