import{a}from"/assets/chunk-V4GLRCBK.js";import"/assets/chunk-BMRQNLD7.js";import"/assets/chunk-RCJGLENZ.js";import"/assets/chunk-6OUYUQZV.js";import"/assets/chunk-XPEEAWRZ.js";export{a as Withdraw};
