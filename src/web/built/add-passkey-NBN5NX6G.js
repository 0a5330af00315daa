import{a}from"/assets/chunk-KC5NFC62.js";import"/assets/chunk-NLBKV4FL.js";export{a as AddPasskey};
