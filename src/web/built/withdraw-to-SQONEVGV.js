import{a}from"/assets/chunk-PLGLWJB5.js";import"/assets/chunk-OSTP2E3G.js";import"/assets/chunk-W6CUCUK7.js";import"/assets/chunk-KHPADQKH.js";export{a as Withdraw};
