//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "fa906b5f49a5db6cc8182dd386aebe30",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "7e6d9cfae6494d5d3a301be01cbf4677",
};

pub(super) static LINK_USED: Page = Page {
    html: include_str!("link-used.html"),
    digest: "7b9df93316b5c55f6d2a4ab0324572f6",
};

pub(super) static LOGIN: Page = Page {
    html: include_str!("login.html"),
    digest: "f319049a79615e813d9ed59574036f60",
};

pub(super) static SIGNED_IN: Page = Page {
    html: include_str!("signed-in.html"),
    digest: "dadcaf34863b1806f1280335e293bae5",
};

/// Sorted by name.
pub(super) static FILES: &[File] = &[
    File {
        name: "LICENSE-mono.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "cc815ed4fc045f0e991abb10395b7932",
        bytes: include_bytes!("LICENSE-mono.txt"),
        gzip: None,
    },
    File {
        name: "LICENSE-sans.txt",
        content_type: "text/plain; charset=utf-8",
        digest: "f45f60ca871850c58d8dc9c973bd6fca",
        bytes: include_bytes!("LICENSE-sans.txt"),
        gzip: None,
    },
    File {
        name: "agents-S7D3AGFD.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "60cd20639269a8dd71d7de5612295972",
        bytes: include_bytes!("agents-S7D3AGFD.js"),
        gzip: Some(include_bytes!("agents-S7D3AGFD.js.gz")),
    },
    File {
        name: "approval-dialog-M2FW6XPW.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "283eda6e11f605b1197cbf69081fc46b",
        bytes: include_bytes!("approval-dialog-M2FW6XPW.js"),
        gzip: Some(include_bytes!("approval-dialog-M2FW6XPW.js.gz")),
    },
    File {
        name: "card-AQRPR4QT.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "23dfa418b6d4459ac94a8022da0511e3",
        bytes: include_bytes!("card-AQRPR4QT.js"),
        gzip: Some(include_bytes!("card-AQRPR4QT.js.gz")),
    },
    File {
        name: "cards-HWVQGJKI.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2b0fb156b03576f4f1c1b5e15e762ae1",
        bytes: include_bytes!("cards-HWVQGJKI.js"),
        gzip: Some(include_bytes!("cards-HWVQGJKI.js.gz")),
    },
    File {
        name: "chunk-4L2YJGGV.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c9d152e1885ddca460b38c2a6ed83acc",
        bytes: include_bytes!("chunk-4L2YJGGV.js"),
        gzip: Some(include_bytes!("chunk-4L2YJGGV.js.gz")),
    },
    File {
        name: "chunk-GVXTDS5O.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "76c34ea588ca07badcd892b8dbb84ce5",
        bytes: include_bytes!("chunk-GVXTDS5O.js"),
        gzip: Some(include_bytes!("chunk-GVXTDS5O.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-NZH66Q2D.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "73fefd618cbe50a6f59d70befededb62",
        bytes: include_bytes!("chunk-NZH66Q2D.js"),
        gzip: Some(include_bytes!("chunk-NZH66Q2D.js.gz")),
    },
    File {
        name: "desk-N3R6UK3P.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c87a7d69b1b201101299b8370af56a78",
        bytes: include_bytes!("desk-N3R6UK3P.js"),
        gzip: Some(include_bytes!("desk-N3R6UK3P.js.gz")),
    },
    File {
        name: "desk-UAA5N3CW.css",
        content_type: "text/css; charset=utf-8",
        digest: "cd25fd582cc3f82a818113ba57e1ec25",
        bytes: include_bytes!("desk-UAA5N3CW.css"),
        gzip: Some(include_bytes!("desk-UAA5N3CW.css.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-ALQO4RTA.css",
        content_type: "text/css; charset=utf-8",
        digest: "715786d9f24ff12f087f5d6244ffc200",
        bytes: include_bytes!("holder-ALQO4RTA.css"),
        gzip: Some(include_bytes!("holder-ALQO4RTA.css.gz")),
    },
    File {
        name: "holder-FFNA3XMP.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "b6c396af61c13aa070c374db0db221b0",
        bytes: include_bytes!("holder-FFNA3XMP.js"),
        gzip: Some(include_bytes!("holder-FFNA3XMP.js.gz")),
    },
    File {
        name: "home-JZIPK5PE.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "0d250103c3c2c81493af9c29e23af1cc",
        bytes: include_bytes!("home-JZIPK5PE.js"),
        gzip: Some(include_bytes!("home-JZIPK5PE.js.gz")),
    },
    File {
        name: "home-QKCJV4N6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "6c0933a45e4afea2c5a483009b719bba",
        bytes: include_bytes!("home-QKCJV4N6.js"),
        gzip: Some(include_bytes!("home-QKCJV4N6.js.gz")),
    },
    File {
        name: "icon-LON4Y3IE.svg",
        content_type: "image/svg+xml",
        digest: "9931453ad72a098aabfcb08c3f2e78dc",
        bytes: include_bytes!("icon-LON4Y3IE.svg"),
        gzip: Some(include_bytes!("icon-LON4Y3IE.svg.gz")),
    },
    File {
        name: "login-27ID3IWR.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "a4aa96731eb0d9beeac16cb12435d1c2",
        bytes: include_bytes!("login-27ID3IWR.js"),
        gzip: Some(include_bytes!("login-27ID3IWR.js.gz")),
    },
    File {
        name: "mono-HL3UKEM5.woff2",
        content_type: "font/woff2",
        digest: "b055e8f8a028a74ca70ec6693b4ccb1f",
        bytes: include_bytes!("mono-HL3UKEM5.woff2"),
        gzip: None,
    },
    File {
        name: "plot-MPEHL7Z6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2c8799be9ea44c1c493aa7e27a558538",
        bytes: include_bytes!("plot-MPEHL7Z6.js"),
        gzip: Some(include_bytes!("plot-MPEHL7Z6.js.gz")),
    },
    File {
        name: "public-F364WWHA.css",
        content_type: "text/css; charset=utf-8",
        digest: "cd25fd582cc3f82a818113ba57e1ec25",
        bytes: include_bytes!("public-F364WWHA.css"),
        gzip: Some(include_bytes!("public-F364WWHA.css.gz")),
    },
    File {
        name: "public-XS7ZZLKY.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2ceefe0d33f2438d415d7d692ba7d947",
        bytes: include_bytes!("public-XS7ZZLKY.js"),
        gzip: Some(include_bytes!("public-XS7ZZLKY.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-WMB4BAA3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "72ed01beb48fe17830442e7f8e7cf8cb",
        bytes: include_bytes!("settings-WMB4BAA3.js"),
        gzip: Some(include_bytes!("settings-WMB4BAA3.js.gz")),
    },
    File {
        name: "spending-Q222AM75.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "297cf73da299928ec3f7082fb2a34cea",
        bytes: include_bytes!("spending-Q222AM75.js"),
        gzip: Some(include_bytes!("spending-Q222AM75.js.gz")),
    },
    File {
        name: "statement-E62RZFC4.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "18dd17bff32f2b6b2b24f2e76dd29490",
        bytes: include_bytes!("statement-E62RZFC4.js"),
        gzip: Some(include_bytes!("statement-E62RZFC4.js.gz")),
    },
    File {
        name: "transfer-76BFWC6W.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "619851dc3aea2715332e6af80a20799c",
        bytes: include_bytes!("transfer-76BFWC6W.js"),
        gzip: Some(include_bytes!("transfer-76BFWC6W.js.gz")),
    },
    File {
        name: "transfers-2UAPEJIF.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "1be8fc18692f7db4ceb23efefde73dd1",
        bytes: include_bytes!("transfers-2UAPEJIF.js"),
        gzip: Some(include_bytes!("transfers-2UAPEJIF.js.gz")),
    },
    File {
        name: "withdraw-YAH5Y4IZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "141b88fda7168bd41f34b47d77f245ec",
        bytes: include_bytes!("withdraw-YAH5Y4IZ.js"),
        gzip: Some(include_bytes!("withdraw-YAH5Y4IZ.js.gz")),
    },
];
