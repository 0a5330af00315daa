import{a}from"/assets/chunk-XS3EY5BJ.js";import"/assets/chunk-7HD7MSGS.js";import"/assets/chunk-CVERC2AY.js";import"/assets/chunk-6DHFCZQR.js";export{a as Withdraw};
