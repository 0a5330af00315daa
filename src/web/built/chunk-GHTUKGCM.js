import{bb as e}from"/assets/chunk-XPEEAWRZ.js";function r(o){e.sandbox.value=o.headers.get("X-Service-Mode")==="sandbox"}export{r as a};
