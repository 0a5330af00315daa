import{a}from"/assets/chunk-4M4ZXWKI.js";import"/assets/chunk-KJQ6U4KL.js";import"/assets/chunk-WRHOPW3Q.js";import"/assets/chunk-S7HXOMVX.js";export{a as Withdraw};
