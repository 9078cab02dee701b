/// Methods that write a member in one call, so that code for documents has the shape of the documents.
extension JSONWriter {
  package mutating func object(_ body: (inout JSONWriter) throws -> Void) rethrows {
    beginObject()
    try body(&self)
    endObject()
  }

  package mutating func object(_ name: String, _ body: (inout JSONWriter) throws -> Void) rethrows {
    key(name)
    try object(body)
  }

  /// Writes a member that is an object, or null if `value` is nil.
  package mutating func object<Value>(
    _ name: String, _ value: Value?, _ body: (inout JSONWriter, Value) throws -> Void
  ) rethrows {
    key(name)
    if let value { try object { try body(&$0, value) } } else { null() }
  }

  /// Writes a member that is a list of objects.
  package mutating func list<Element>(
    _ name: String, _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    key(name)
    beginArray()
    for element in elements { try object { try body(&$0, element) } }
    endArray()
  }

  /// Writes a member that is a list, whose elements `body` writes.
  package mutating func array<Element>(
    _ name: String, _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) throws -> Void
  ) rethrows {
    key(name)
    beginArray()
    for element in elements { try body(&self, element) }
    endArray()
  }

  /// Writes a member that is a list of texts.
  package mutating func names(_ name: String, _ texts: some Sequence<String>) {
    array(name, texts) { $0.value($1) }
  }

  package mutating func member(_ name: String, _ text: String?) {
    key(name)
    if let text { value(text) } else { null() }
  }

  package mutating func member(_ name: String, _ number: Int?) { member(name, number.map(Int64.init)) }

  package mutating func member(_ name: String, _ number: Int64?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  package mutating func member(_ name: String, _ number: Double?) {
    key(name)
    if let number { value(number) } else { null() }
  }

  package mutating func member(_ name: String, _ flag: Bool?) {
    key(name)
    if let flag { value(flag) } else { null() }
  }

  package mutating func member(_ name: String, _ json: JSONValue) {
    key(name)
    json.write(to: &self)
  }

  package mutating func members(_ id: RecordID) {
    member("type", id.type)
    member("id", id.id)
  }
}
