import{a}from"/assets/chunk-MWKNBHB2.js";import"/assets/chunk-VWDIEJTP.js";import"/assets/chunk-IN55EAJZ.js";export{a as ApprovalDialog};
