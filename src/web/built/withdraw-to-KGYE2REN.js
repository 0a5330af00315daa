import{a}from"/assets/chunk-TUDRHQM5.js";import"/assets/chunk-O6E33EVE.js";import"/assets/chunk-LZ6A4NY5.js";import"/assets/chunk-AG6QAK4M.js";export{a as Withdraw};
