import{a}from"/assets/chunk-54TBTNZI.js";import"/assets/chunk-4V5TFHPD.js";import"/assets/chunk-MD7RVF3J.js";import"/assets/chunk-TAS4QGM7.js";export{a as Withdraw};
