//! nginx, Caddy and HAProxy.
