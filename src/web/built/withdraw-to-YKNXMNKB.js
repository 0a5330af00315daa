import{a}from"/assets/chunk-XE2TFBHI.js";import"/assets/chunk-E275DOD3.js";import"/assets/chunk-ZIDYONTK.js";import"/assets/chunk-K5IT4SSZ.js";export{a as Withdraw};
