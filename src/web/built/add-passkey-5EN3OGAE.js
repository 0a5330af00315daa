import{a}from"/assets/chunk-HAFLU6WI.js";import"/assets/chunk-N7KEYTVL.js";export{a as AddPasskey};
