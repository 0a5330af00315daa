import{a}from"/assets/chunk-CWCVG2DD.js";import"/assets/chunk-KRR6XGQ7.js";import"/assets/chunk-KSLTGDSC.js";export{a as ApprovalDialog};
