import{a}from"/assets/chunk-6M4WOHQK.js";import"/assets/chunk-MQIQDFF3.js";import"/assets/chunk-6DHFCZQR.js";export{a as ApprovalDialog};
