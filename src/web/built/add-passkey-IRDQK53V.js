import{a}from"/assets/chunk-W36SSK2R.js";import"/assets/chunk-XPEEAWRZ.js";export{a as AddPasskey};
