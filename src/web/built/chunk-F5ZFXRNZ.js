import{bb as e}from"/assets/chunk-N7KEYTVL.js";function r(o){e.sandbox.value=o.headers.get("X-Service-Mode")==="sandbox"}export{r as a};
