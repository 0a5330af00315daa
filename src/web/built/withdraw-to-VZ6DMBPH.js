import{a}from"/assets/chunk-67WCJ2NY.js";import"/assets/chunk-QNAFIRTQ.js";import"/assets/chunk-YFZNWZ6F.js";import"/assets/chunk-VWC7FEUS.js";import"/assets/chunk-KOM5BBLZ.js";export{a as Withdraw};
