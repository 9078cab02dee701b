import BothyStore

/// The time and place at which a subscription's windows are.
package struct Standpoint: Sendable, Hashable {
  /// The server's time, in milliseconds since 1970.
  package var now: Int64
  /// The device's place. Without it no record is in a circle.
  package var place: Coordinate?

  /// Makes a standpoint, by default without a place.
  package init(now: Int64, place: Coordinate? = nil) { (self.now, self.place) = (now, place) }
}

/// The values that the records of a link have at one time.
package struct LinkValues: Sendable, Hashable {
  /// The values, without null. Elements of lists are texts.
  package private(set) var values: Set<FieldValue>

  /// Makes a set without values, which links nothing.
  package init() { values = [] }

  /// Makes a set of values of one kind. Null links nothing and isn't taken.
  package init(_ values: some Sequence<FieldValue>) {
    self.values = Set(values.lazy.filter { !$0.isNull })
  }

  /// Adds the value of a link record's field, or each element of a list.
  package mutating func add(_ value: FieldValue) { values.formUnion(value.linked) }

  /// Returns true if a record with this value is linked.
  package func link(_ value: FieldValue) -> Bool { value.linked.contains { values.contains($0) } }

  /// The values in the order of their JSON.
  package var sorted: [FieldValue] { Array(values).sortedWithoutRepetition(by: \.json) }
}

extension FieldValue {
  /// The values by which the value of a field links its record: its elements, itself, or nothing.
  package var linked: [FieldValue] {
    switch self {
    case .null: []
    case .list(let ids): ids.map { .text($0) }
    default: [self]
    }
  }
}
