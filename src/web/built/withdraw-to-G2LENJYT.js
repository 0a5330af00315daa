import{a}from"/assets/chunk-P4SCA5OQ.js";import"/assets/chunk-46PMWIPT.js";import"/assets/chunk-YWGTMSR7.js";import"/assets/chunk-KSLTGDSC.js";export{a as Withdraw};
