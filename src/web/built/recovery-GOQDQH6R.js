import{a}from"/assets/chunk-HULRDSGP.js";import"/assets/chunk-SJQSU63U.js";import"/assets/chunk-JRAVTUET.js";export{a as RecoveryNote};
