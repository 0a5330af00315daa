import{a}from"/assets/chunk-EZGKICXR.js";import"/assets/chunk-JOKDCOBH.js";import"/assets/chunk-L2Y7JZSM.js";import"/assets/chunk-XA4E3EUK.js";export{a as Withdraw};
