extension FixedWidthInteger {
  /// The sum, or the nearest number that there is: for numbers from outside.
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflows) = addingReportingOverflow(other)
    return !overflows ? sum : other < 0 ? .min : .max
  }

  /// The difference, or the nearest number that there is.
  package func subtractingClamped(_ other: Self) -> Self {
    let (difference, overflows) = subtractingReportingOverflow(other)
    return !overflows ? difference : other < 0 ? .max : .min
  }

  /// The product, or the nearest number that there is.
  package func multipliedClamped(by other: Self) -> Self {
    let (product, overflows) = multipliedReportingOverflow(by: other)
    return !overflows ? product : (self < 0) == (other < 0) ? .max : .min
  }

  /// The whole part of a number, or the nearest that there is; 0 for what is no number.
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
