import{a}from"/assets/chunk-YDDLHH6E.js";import"/assets/chunk-KKN3BHYI.js";import"/assets/chunk-OJDWQAP2.js";import"/assets/chunk-XMULLKRB.js";export{a as Withdraw};
