extension FixedWidthInteger {
  /// Returns the sum, or the nearest number of the type. For numbers from outside.
  @inlinable
  package func addingClamped(_ other: Self) -> Self {
    let (sum, overflows) = addingReportingOverflow(other)
    return !overflows ? sum : other < 0 ? .min : .max
  }

  /// Returns the difference, or the nearest number of the type.
  @inlinable
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

extension Duration {
  /// The whole milliseconds, from zero to the largest number.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    if seconds < 0 || attoseconds < 0 { return 0 }
    let (product, isTooLong) = seconds.multipliedReportingOverflow(by: 1000)
    return isTooLong ? .max : product.addingClamped(attoseconds / 1_000_000_000_000_000)
  }
}
