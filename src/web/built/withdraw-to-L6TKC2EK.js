import{a}from"/assets/chunk-HXVXLWU6.js";import"/assets/chunk-BRYBBPYW.js";import"/assets/chunk-SUVSHYW5.js";import"/assets/chunk-3MSUAHKW.js";export{a as Withdraw};
