import{bb as e}from"/assets/chunk-LNGN6FME.js";function r(o){e.sandbox.value=o.headers.get("X-Service-Mode")==="sandbox"}export{r as a};
