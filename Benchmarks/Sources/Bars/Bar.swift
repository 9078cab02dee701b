/// A claim about speed, and the measurement of this run.
package struct Bar {
  package let claim: String
  package let measured: Double
  package let limit: Double
  /// True if `measured` must not be below `limit`, as for rows a second. Otherwise it must not be above.
  package let isMinimum: Bool
  package let unit: String

  package init(
    claim: String, measured: Double, limit: Double, isMinimum: Bool = false, unit: String = "x"
  ) {
    self.claim = claim
    self.measured = measured
    self.limit = limit
    self.isMinimum = isMinimum
    self.unit = unit
  }

  package var holds: Bool { isMinimum ? measured >= limit : measured <= limit }

  package static func print(_ bars: [Bar]) {
    let width = bars.map(\.claim.count).max() ?? 0
    for bar in bars {
      let sign = bar.isMinimum ? ">=" : "<="
      Swift.print(
        bar.claim.padded(width), bar.measured.short.leftPadded(9), bar.unit.padded(2), sign,
        bar.limit.short.leftPadded(7),
        bar.holds ? "pass" : "MISSED")
    }
  }
}
