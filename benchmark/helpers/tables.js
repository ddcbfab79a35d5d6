'use strict'

// The tables that more than one benchmark prints.

const {
  cpuColumn, megabytesColumn, messageColumns, rateColumn, ratioColumn
} = require('./columns.js')

/**
 * Stock and forklane, by what they get done per second.
 * @param {string} name of the table
 * @param {string} unit what is counted: 'msg'
 * @param {object} [more] properties of the table
 */
function rateTable (name, unit, more) {
  return {
    ...more,
    name,
    comparisons: [{ key: 'ratio', baseline: 'stock', candidate: 'forklane', of: 'rate' }],
    columns: [
      ...messageColumns,
      rateColumn('stock', unit),
      rateColumn('forklane', unit),
      ratioColumn('ratio'),
      megabytesColumn('stock'),
      megabytesColumn('forklane'),
      cpuColumn('stock', unit),
      cpuColumn('forklane', unit)
    ]
  }
}

const floodTable = rateTable('flood', 'msg')

module.exports = { floodTable, rateTable }
