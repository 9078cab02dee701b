import BothyStore
import BothySync

/// Members in one call each: the tool's documents read like their shapes.
extension JSONWriter {
  mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows {
    beginObject()
    try body(&self)
    endObject()
  }

  mutating func object(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
    key(name)
    try object(body)
  }

  /// A member that is a list of objects.
  mutating func list<Element>(
    _ name: String, _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    key(name)
    beginArray()
    for element in elements { try object { try body(&$0, element) } }
    endArray()
  }

  mutating func member(_ name: String, _ text: String?) {
    key(name)
    if let text { value(text) } else { null() }
  }

  mutating func member(_ name: String, _ number: Int?) { member(name, number.map(Int64.init)) }

  mutating func member(_ name: String, _ number: Int64?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  mutating func member(_ name: String, _ number: Double?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  mutating func member(_ name: String, _ flag: Bool?) {
    key(name)
    if let flag { value(flag) } else { null() }
  }

  mutating func member(_ name: String, _ json: JSONValue) {
    key(name)
    json.write(to: &self)
  }

  mutating func members(_ id: RecordID) {
    member("type", id.type)
    member("id", id.id)
  }
}
