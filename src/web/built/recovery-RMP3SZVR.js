import{a}from"/assets/chunk-72HZSWGN.js";import"/assets/chunk-CVERC2AY.js";import"/assets/chunk-6DHFCZQR.js";export{a as RecoveryNote};
