import{a}from"/assets/chunk-JWPBFRFG.js";import"/assets/chunk-LNGN6FME.js";export{a as AddPasskey};
