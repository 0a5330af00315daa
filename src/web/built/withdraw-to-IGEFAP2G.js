import{a}from"/assets/chunk-5SN6KXWA.js";import"/assets/chunk-EJLCH5C4.js";import"/assets/chunk-5RK7QZRC.js";import"/assets/chunk-KTITKUD3.js";export{a as Withdraw};
