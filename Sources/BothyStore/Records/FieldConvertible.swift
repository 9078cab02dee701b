public import Foundation

/// A Swift type that can be a field of an entity.
///
/// Enums with a raw value need the conformance alone, and `Codable` structs conform to `JSONField`. Another type is
/// stored as one that is a field already, by passing on its calls:
///
/// ```swift
/// struct Slug: FieldConvertible {
///   let text: String
///
///   static var fieldKind: FieldKind { String.fieldKind }
///   func encodeField(to fields: inout FieldEncoder) { text.encodeField(to: &fields) }
///   init(fromField fields: inout FieldDecoder) throws(BothyError) { text = try String(fromField: &fields) }
/// }
/// ```
public protocol FieldConvertible: Sendable {
  /// The kind of a field of this type, which determines its columns and its JSON. Read when the schema is declared.
  static var fieldKind: FieldKind { get }
  /// Writes the value as the next field of the record: one column, or two of a coordinate.
  func encodeField(to fields: inout FieldEncoder)
  /// Reads the value from the next field. Throws `BothyError` `.invalidValue` if it is null or doesn't fit this type.
  init(fromField fields: inout FieldDecoder) throws(BothyError)
}

extension FieldConvertible {
  /// The value without its Swift type.
  public var fieldValue: FieldValue {
    var encoder = FieldEncoder(gathering: 1)
    encodeField(to: &encoder)
    return encoder.values.first ?? .null
  }
}

extension Optional: FieldConvertible where Wrapped: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { Wrapped.fieldKind }

  @inlinable public func encodeField(to fields: inout FieldEncoder) {
    if let self {
      self.encodeField(to: &fields)
    } else if Wrapped.fieldKind.isCoordinate {
      fields.encodeNullCoordinate()
    } else {
      fields.encodeNull()
    }
  }

  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    if fields.nextIsNull() {
      if Wrapped.fieldKind.isCoordinate { fields.skip(columns: 2) } else { fields.skip() }
      self = nil
    } else {
      self = try Wrapped(fromField: &fields)
    }
  }
}

/// The optionals among the types of fields. Their fields may be null.
package protocol OptionalField {}

extension Optional: OptionalField where Wrapped: FieldConvertible {}

/// The types of fields that take every value of their kind.
package protocol PlainField {}

extension Bool: PlainField {}
extension Int64: PlainField {}
extension Double: PlainField {}
extension String: PlainField {}
extension Date: PlainField {}
extension Data: PlainField {}
extension Coordinate: PlainField {}
extension Reference: PlainField {}
extension Array: PlainField where Element: AnyReference {}
extension Optional: PlainField where Wrapped: PlainField {}
#if _pointerBitWidth(_64)
  extension Int: PlainField {}
#endif

extension Bool: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.bool) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) { self = try fields.bool() }
}

extension Int: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.int) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(Int64(self)) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    let wide = try fields.int()
    guard let exact = Int(exactly: wide) else {
      throw BothyError(.invalidValue, "\(wide) does not fit this machine's Int. Declare the field as Int64.")
    }
    self = exact
  }
}

extension Int64: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.int) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) { self = try fields.int() }
}

/// JSON can't represent NaN and the infinities, so a write of one throws `BothyError` `.invalidValue`.
extension Double: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.double) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    self = try fields.double()
  }
}

extension String: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.text) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) { self = try fields.text() }
}

/// Stored in whole milliseconds. A write of a date that isn't a number, is infinite, or exceeds 64 bits of milliseconds
/// throws `BothyError` `.invalidValue`.
extension Date: FieldConvertible {
  @inlinable public static var fieldKind: FieldKind { FieldKind(.date) }
  @inlinable public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    self = try fields.time().date
  }
}

/// Stored as lower-case text.
extension UUID: FieldConvertible {
  public static var fieldKind: FieldKind { FieldKind(.uuid) }
  public func encodeField(to fields: inout FieldEncoder) { fields.encode(uuidString.lowercased()) }
  public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    let text = try fields.text()
    guard let uuid = UUID(uuidString: text) else {
      throw BothyError(.invalidValue, "'\(text)' is not a UUID.")
    }
    self = uuid
  }
}

extension Data: FieldConvertible {
  public static var fieldKind: FieldKind { FieldKind(.data) }
  public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  public init(fromField fields: inout FieldDecoder) throws(BothyError) { self = try fields.data() }
}

extension Coordinate: FieldConvertible {
  public static var fieldKind: FieldKind { FieldKind(.coordinate) }
  public func encodeField(to fields: inout FieldEncoder) { fields.encode(self) }
  public init(fromField fields: inout FieldDecoder) throws(BothyError) { self = try fields.coordinate() }
}

extension Reference: FieldConvertible {
  public static var fieldKind: FieldKind { FieldKind(.reference(to: Target.typeName, onDelete: .nullify)) }
  public func encodeField(to fields: inout FieldEncoder) { fields.encode(id) }
  public init(fromField fields: inout FieldDecoder) throws(BothyError) { id = try fields.text() }
}

/// An ordered list of references. Other arrays are `JSONField` values.
extension Array: FieldConvertible where Element: AnyReference {
  public static var fieldKind: FieldKind {
    FieldKind(.references(to: Element.fieldKind.value.target?.type ?? "", onDelete: .nullify))
  }
  public func encodeField(to fields: inout FieldEncoder) { fields.encode(list: map(\.id)) }
  public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    self = try fields.list().map { Element(id: $0) }
  }
}

/// The interface of `Reference` for lists of references.
public protocol AnyReference: FieldConvertible {
  /// The id of the target, which may be absent from this device.
  var id: String { get }
  /// Creates a reference to the record `id` without a check. A reference may name a record that isn't on this device
  /// (yet).
  init(id: String)
}

extension Reference: AnyReference {}

/// Enums with a raw value become fields by declaring the conformance: `enum Priority: Int, FieldConvertible`.
extension RawRepresentable where Self: FieldConvertible, RawValue: FieldConvertible {
  /// The kind of the raw value, for example text for an enum of `String`.
  public static var fieldKind: FieldKind { RawValue.fieldKind }
  /// Writes the raw value.
  public func encodeField(to fields: inout FieldEncoder) { rawValue.encodeField(to: &fields) }
  /// Reads the raw value. Throws `BothyError` `.invalidValue` if no case has it, for example a case of a later version
  /// of the app.
  public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    let raw = try RawValue(fromField: &fields)
    guard let value = Self(rawValue: raw) else {
      throw BothyError(
        .invalidValue,
        "\(raw) isn't a case of \(Self.self). Add the case, or keep the raw value in the field.")
    }
    self = value
  }
}
