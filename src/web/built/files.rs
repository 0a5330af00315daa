//! The files of the web apps, written by `npm run build` in `src/web`.

use super::{File, Page};

pub(super) static DESK: Page = Page {
    html: include_str!("desk.html"),
    digest: "2e9d19907afb2002c30e96cd249bf57b",
};

pub(super) static HOLDER: Page = Page {
    html: include_str!("holder.html"),
    digest: "21b2bd8036801b0d4960f0e41ffbb44d",
};

pub(super) static LINK_USED: Page = Page {
    html: include_str!("link-used.html"),
    digest: "95ae36ed684020c0a084f7bba39f9b1b",
};

pub(super) static LOGIN: Page = Page {
    html: include_str!("login.html"),
    digest: "e2c3759aa3b29e603388997c1f4ba2db",
};

pub(super) static SIGNED_IN: Page = Page {
    html: include_str!("signed-in.html"),
    digest: "c6de38481862468eff50988d11a31318",
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
        name: "agents-KEQQSHOH.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "45991ea3e772ede0ad626421ad7cf973",
        bytes: include_bytes!("agents-KEQQSHOH.js"),
        gzip: Some(include_bytes!("agents-KEQQSHOH.js.gz")),
    },
    File {
        name: "approval-dialog-6US6434A.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "880a130247e862328bfc97ae568f9ba1",
        bytes: include_bytes!("approval-dialog-6US6434A.js"),
        gzip: Some(include_bytes!("approval-dialog-6US6434A.js.gz")),
    },
    File {
        name: "card-UQQLHM42.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "c127675b95cb187c8629e62a5e5be42f",
        bytes: include_bytes!("card-UQQLHM42.js"),
        gzip: Some(include_bytes!("card-UQQLHM42.js.gz")),
    },
    File {
        name: "cards-Y7FDZHL7.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "ef9084d0a6b4ad19a2c9c1d7256eb574",
        bytes: include_bytes!("cards-Y7FDZHL7.js"),
        gzip: Some(include_bytes!("cards-Y7FDZHL7.js.gz")),
    },
    File {
        name: "chunk-4YYUPQIZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "36a14d06311a6fcca586419f21c6e909",
        bytes: include_bytes!("chunk-4YYUPQIZ.js"),
        gzip: Some(include_bytes!("chunk-4YYUPQIZ.js.gz")),
    },
    File {
        name: "chunk-CTG34QNP.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "84aa7482ff0196438a24e4ea7e4c095d",
        bytes: include_bytes!("chunk-CTG34QNP.js"),
        gzip: Some(include_bytes!("chunk-CTG34QNP.js.gz")),
    },
    File {
        name: "chunk-INTFOLL3.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e3b0c44298fc1c149afbf4c8996fb924",
        bytes: include_bytes!("chunk-INTFOLL3.js"),
        gzip: Some(include_bytes!("chunk-INTFOLL3.js.gz")),
    },
    File {
        name: "chunk-RHMIITH6.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "4675f21ef1eecdd2077b2d78c27d415c",
        bytes: include_bytes!("chunk-RHMIITH6.js"),
        gzip: Some(include_bytes!("chunk-RHMIITH6.js.gz")),
    },
    File {
        name: "desk-6RYQAR4E.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e5d3964dc84e3ee53aae1ad9e20e426e",
        bytes: include_bytes!("desk-6RYQAR4E.js"),
        gzip: Some(include_bytes!("desk-6RYQAR4E.js.gz")),
    },
    File {
        name: "desk-NHMH3DDG.css",
        content_type: "text/css; charset=utf-8",
        digest: "fa9f9d9fa6f7958e074442de61f6c027",
        bytes: include_bytes!("desk-NHMH3DDG.css"),
        gzip: Some(include_bytes!("desk-NHMH3DDG.css.gz")),
    },
    File {
        name: "dot-OCYNQVI7.woff2",
        content_type: "font/woff2",
        digest: "2f836007e2e45850cb2d5c5f3b5cd60b",
        bytes: include_bytes!("dot-OCYNQVI7.woff2"),
        gzip: None,
    },
    File {
        name: "holder-2BFTVMGF.css",
        content_type: "text/css; charset=utf-8",
        digest: "7d9edc55d8a71f2c338a7da5c0604c55",
        bytes: include_bytes!("holder-2BFTVMGF.css"),
        gzip: Some(include_bytes!("holder-2BFTVMGF.css.gz")),
    },
    File {
        name: "holder-GXX7WXGA.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "bf8fe1df2e30d6c4bfbcdb975b4de33c",
        bytes: include_bytes!("holder-GXX7WXGA.js"),
        gzip: Some(include_bytes!("holder-GXX7WXGA.js.gz")),
    },
    File {
        name: "home-GEMGVQJZ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "b9852722cf470efc412577dcbb85de80",
        bytes: include_bytes!("home-GEMGVQJZ.js"),
        gzip: Some(include_bytes!("home-GEMGVQJZ.js.gz")),
    },
    File {
        name: "home-YCSE767M.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "e73658ed0feb6c14e3d1b160acf4590b",
        bytes: include_bytes!("home-YCSE767M.js"),
        gzip: Some(include_bytes!("home-YCSE767M.js.gz")),
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
        name: "public-LU2MLMPR.css",
        content_type: "text/css; charset=utf-8",
        digest: "fa9f9d9fa6f7958e074442de61f6c027",
        bytes: include_bytes!("public-LU2MLMPR.css"),
        gzip: Some(include_bytes!("public-LU2MLMPR.css.gz")),
    },
    File {
        name: "public-ZDWWFVDG.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "2e74e123b7314ac8d58a5f6df32a24be",
        bytes: include_bytes!("public-ZDWWFVDG.js"),
        gzip: Some(include_bytes!("public-ZDWWFVDG.js.gz")),
    },
    File {
        name: "sans-FMSCV2E6.woff2",
        content_type: "font/woff2",
        digest: "252c32aa3bdaa4e5b705f6deef8bd931",
        bytes: include_bytes!("sans-FMSCV2E6.woff2"),
        gzip: None,
    },
    File {
        name: "settings-4GAD5V2Q.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "3396b662828860d6124fdab7e32f5821",
        bytes: include_bytes!("settings-4GAD5V2Q.js"),
        gzip: Some(include_bytes!("settings-4GAD5V2Q.js.gz")),
    },
    File {
        name: "statement-6IHPTBJA.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "0e94f8fa3b457a9349e0f0adf18efeb8",
        bytes: include_bytes!("statement-6IHPTBJA.js"),
        gzip: Some(include_bytes!("statement-6IHPTBJA.js.gz")),
    },
    File {
        name: "transfer-OKLQ24AS.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "af70f7e85cd11dab4258431db034ef35",
        bytes: include_bytes!("transfer-OKLQ24AS.js"),
        gzip: Some(include_bytes!("transfer-OKLQ24AS.js.gz")),
    },
    File {
        name: "transfers-T646J6VJ.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "9599c0fc67da7d2a032075e01942a79a",
        bytes: include_bytes!("transfers-T646J6VJ.js"),
        gzip: Some(include_bytes!("transfers-T646J6VJ.js.gz")),
    },
    File {
        name: "withdraw-KQD4OAII.js",
        content_type: "text/javascript; charset=utf-8",
        digest: "661a52a5a4b9f7b1f1d0350a3b7c0784",
        bytes: include_bytes!("withdraw-KQD4OAII.js"),
        gzip: Some(include_bytes!("withdraw-KQD4OAII.js.gz")),
    },
];
