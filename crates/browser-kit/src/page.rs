//! A page as a browser shows it.

use std::path::Path;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::browser::Browser;

/// Tells the elements that reach over the right edge, without those in something that is moved by itself.
const OVERFLOWING: &str = include_str!("overflowing.js");
/// Tells the lowest contrast of a text with what is behind it.
const CONTRAST: &str = include_str!("contrast.js");

/// The width of a sheet of paper, in pixels of a 96th of an inch.
const A4: u32 = 794;

/// Which colours the reader has chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scheme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// An open page.
#[derive(Debug)]
pub struct Page<'a> {
    browser: &'a Browser,
    session: String,
}

impl<'a> Page<'a> {
    pub(crate) fn new(browser: &'a Browser, session: String) -> Self {
        let page = Self { browser, session };
        page.call("Page.enable", &json!({}));
        page
    }

    fn call(&self, method: &str, params: &Value) -> Value {
        self.browser.call(Some(&self.session), method, params)
    }

    /// Opens a file and waits until it is there with all that belongs to it.
    pub fn open(&self, file: &Path) {
        let url = format!("file://{}", file.canonicalize().unwrap().display());
        let went = self.call("Page.navigate", &json!({ "url": url }));
        assert!(went["errorText"].is_null(), "{url}: {}", went["errorText"]);
        self.browser.event(&self.session, "Page.loadEventFired");
    }

    /// Shows it on a screen of so many pixels across: a phone's below 600.
    pub fn screen(&self, width: u32, scheme: Scheme) {
        self.medium("screen", width, scheme);
    }

    /// Shows it as on paper, to a reader who has chosen a scheme for the screen.
    pub fn paper(&self, scheme: Scheme) {
        self.medium("print", A4, scheme);
    }

    fn medium(&self, medium: &str, width: u32, scheme: Scheme) {
        let (mobile, scheme) = (width < 600, if scheme == Scheme::Dark { "dark" } else { "light" });
        let metrics = json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": mobile });
        self.call("Emulation.setDeviceMetricsOverride", &metrics);
        let features = json!([{ "name": "prefers-color-scheme", "value": scheme }]);
        self.call("Emulation.setEmulatedMedia", &json!({ "media": medium, "features": features }));
    }

    /// Returns the value of an expression of JavaScript.
    pub fn value(&self, expression: &str) -> Value {
        let asked = json!({ "expression": expression, "returnByValue": true, "awaitPromise": true });
        let mut answer = self.call("Runtime.evaluate", &asked);
        assert!(answer["exceptionDetails"].is_null(), "{}", answer["exceptionDetails"]);
        answer["result"]["value"].take()
    }

    /// Returns what reaches over the right edge of the screen, each as its tag and its place; what may be moved by itself is
    /// not among it.
    pub fn overflowing(&self) -> Vec<String> {
        serde_json::from_value(self.value(OVERFLOWING)).unwrap()
    }

    /// Returns the text that is the hardest to tell from what is behind it, with its contrast as a ratio to one.
    pub fn lowest_contrast(&self) -> (f64, String) {
        let lowest = self.value(CONTRAST);
        (lowest["ratio"].as_f64().unwrap(), lowest["text"].as_str().unwrap_or_default().to_owned())
    }

    /// Returns a picture of the whole page, as PNG.
    pub fn picture(&self) -> Vec<u8> {
        let size = self.call("Page.getLayoutMetrics", &json!({}));
        let (width, height) = (&size["cssContentSize"]["width"], &size["cssContentSize"]["height"]);
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let asked = json!({ "format": "png", "captureBeyondViewport": true, "clip": clip });
        let answer = self.call("Page.captureScreenshot", &asked);
        STANDARD.decode(answer["data"].as_str().unwrap()).unwrap()
    }
}
