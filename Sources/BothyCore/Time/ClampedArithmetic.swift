extension FixedWidthInteger {
  /// Returns the sum, or the nearest number of the type. For numbers from outside.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflows) = addingReportingOverflow(other)
    return !overflows ? sum : other < 0 ? .min : .max
  }

  /// Returns the difference, or the nearest number of the type.
  package func subtractingClamped(_ other: Self) -> Self {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return !overflows ? difference : other < 0 ? .max : .min
  }

  /// Creates the whole part of a number, or the nearest number of the type. NaN becomes 0.
  package init(clampedWhole number: Double) {
    if number.isNaN {
      self = 0
    } else if let exact = Self(exactly: number.rounded(.towardZero)) {
      self = exact
    } else {
      self = number < 0 ? .min : .max
    }
  }
}
