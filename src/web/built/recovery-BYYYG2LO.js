import{a}from"/assets/chunk-KWCJCAKE.js";import"/assets/chunk-YWGTMSR7.js";import"/assets/chunk-KSLTGDSC.js";export{a as RecoveryNote};
