import Foundation

/// The elements of lists, and their comparison with the value of a condition.
extension FieldValue {
  /// The value in the form that an element of a list in JSON has, or nil if no list can be asked for it.
  ///
  /// A whole number has one form, whatever the type of the elements. A date is its milliseconds, and data is base64.
  var element: FieldValue? {
    switch self {
    case .null, .bool, .int, .text: return self
    case .double(let number):
      if let whole = Int64(exactly: number) { return .int(whole) }
      guard number.isFinite else { return nil }
      return self
    case .date(let milliseconds): return .int(milliseconds)
    case .data(let data): return .text(data.base64EncodedString())
    case .coordinate, .json, .list: return nil
    }
  }

  /// True if the value is a list that contains the element.
  func includes(_ element: FieldValue) -> Bool {
    if let text = element.text { return elements.contains { $0.utf8.elementsEqual(text.utf8) } }
    guard case .json(let text) = self else { return false }
    return element.isIncluded(in: try? JSONValue(parsing: text))  // Other text has no elements.
  }

  /// True if the JSON is an array that contains the value, an element other than text.
  func isIncluded(in list: JSONValue?) -> Bool { list?.arrayValue?.contains(where: equals) ?? false }

  private func equals(_ json: JSONValue) -> Bool {
    switch (self, json) {
    case (.null, .null): true
    case (.bool(let flag), .bool(let other)): flag == other
    case (.int(let number), .int(let other)): number == other
    // A conversion of the whole number can round it to the other one.
    case (.int(let number), .double(let other)): Int64(exactly: other) == number
    case (.double(let number), .int(let other)): Int64(exactly: number) == other
    case (.double(let number), .double(let other)): number == other
    default: false
    }
  }
}
