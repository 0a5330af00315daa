import{a}from"/assets/chunk-LRM3BUQY.js";import"/assets/chunk-KOM5BBLZ.js";export{a as AddPasskey};
