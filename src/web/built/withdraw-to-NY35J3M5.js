import{a}from"/assets/chunk-R7MQSL52.js";import"/assets/chunk-B2JBKQK7.js";import"/assets/chunk-2PCZM2ZY.js";import"/assets/chunk-VW5P7KFL.js";import"/assets/chunk-N7KEYTVL.js";export{a as Withdraw};
