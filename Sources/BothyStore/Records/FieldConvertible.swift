public import Foundation

/// A Swift type that can be a field of an entity.
///
/// Types with a raw value need the conformance alone, and `Codable` structs conform to `JSONField`:
///
/// ```swift
/// enum Priority: Int, FieldConvertible { case low, high }
/// struct Slug: RawRepresentable, FieldConvertible { var rawValue: String }
/// struct Address: Codable, JSONField { var street: String }
/// ```
public protocol FieldConvertible: Sendable {
  /// The kind of a field of this type, with the way in which values are written and read.
  static var fieldCoding: FieldKind.Coding<Self> { get }
  /// The type itself, or the wrapped type of an optional. Fields of one are compared with each other.
  associatedtype Unwrapped = Self
}

extension FieldConvertible {
  /// The kind of a field of this type, which determines its columns and its JSON. Read when the schema is declared.
  @inlinable package static var fieldKind: FieldKind { fieldCoding.kind() }

  /// Writes the value as the next field of the record: one column, or two of a coordinate.
  @inlinable public func encodeField(to fields: inout FieldEncoder) { Self.fieldCoding.encode(self, &fields) }

  /// Reads the value from the next field. Throws `BothyError` `.invalidValue` if it is null or doesn't fit this type.
  @inlinable public init(fromField fields: inout FieldDecoder) throws(BothyError) {
    self = try Self.fieldCoding.decode(&fields)
  }

  /// The value without its Swift type.
  package var fieldValue: FieldValue {
    var encoder = FieldEncoder(gathering: 1)
    encodeField(to: &encoder)
    return encoder.values.first ?? .null
  }
}

extension Optional: FieldConvertible where Wrapped: FieldConvertible {
  public typealias Unwrapped = Wrapped.Unwrapped
  @inlinable public static var fieldCoding: FieldKind.Coding<Wrapped?> {
    FieldKind.Coding(
      Wrapped.fieldKind,
      encode: { value, fields in
        if let value {
          value.encodeField(to: &fields)
        } else if Wrapped.fieldKind.isCoordinate {
          fields.encodeNullCoordinate()
        } else {
          fields.encodeNull()
        }
      },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        guard fields.nextIsNull() else { return try Wrapped(fromField: &fields) }
        if Wrapped.fieldKind.isCoordinate { fields.skip(columns: 2) } else { fields.skip() }
        return nil
      })
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
  @inlinable public static var fieldCoding: FieldKind.Coding<Bool> {
    FieldKind.Coding(
      FieldKind(.bool), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.bool() })
  }
}

extension Int: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Int> {
    FieldKind.Coding(
      FieldKind(.int), encode: { $1.encode(Int64($0)) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let wide = try fields.int()
        guard let exact = Int(exactly: wide) else {
          throw BothyError(
            .invalidValue, "\(wide) does not fit this machine's Int. Declare the field as Int64.")
        }
        return exact
      })
  }
}

extension Int64: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Int64> {
    FieldKind.Coding(
      FieldKind(.int), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.int() })
  }
}

/// JSON can't represent NaN and the infinities, so a write of one throws `BothyError` `.invalidValue`.
extension Double: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Double> {
    FieldKind.Coding(
      FieldKind(.double), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.double() })
  }
}

extension String: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<String> {
    FieldKind.Coding(
      FieldKind(.text), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.text() })
  }
}

/// Stored in whole milliseconds. A write of a date that isn't a number, is infinite, or exceeds 64 bits of milliseconds
/// throws `BothyError` `.invalidValue`.
extension Date: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Date> {
    FieldKind.Coding(
      FieldKind(.date), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.time().date })
  }
}

/// Stored as lower-case text.
extension UUID: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<UUID> {
    FieldKind.Coding(
      FieldKind(.uuid), encode: { $1.encode($0.uuidString.lowercased()) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let text = try fields.text()
        guard let uuid = UUID(uuidString: text) else {
          throw BothyError(.invalidValue, "'\(text)' is not a UUID.")
        }
        return uuid
      })
  }
}

extension Data: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Data> {
    FieldKind.Coding(
      FieldKind(.data), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.data() })
  }
}

extension Coordinate: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Coordinate> {
    FieldKind.Coding(
      FieldKind(.coordinate), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.coordinate() })
  }
}

extension Reference: FieldConvertible {
  @inlinable public static var fieldCoding: FieldKind.Coding<Reference<Target>> {
    FieldKind.Coding(
      FieldKind(.reference(to: Target.typeName, onDelete: .nullify)), encode: { $1.encode($0.id) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in Reference(id: try fields.text()) })
  }
}

/// An ordered list of references. Other arrays are `JSONField` values.
extension Array: FieldConvertible where Element: AnyReference {
  public static var fieldCoding: FieldKind.Coding<[Element]> {
    FieldKind.Coding(
      FieldKind(.references(to: Element.fieldKind.value.target?.type ?? "", onDelete: .nullify)),
      encode: { $1.encode(list: $0.map(\.id)) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        try fields.list().map { Element(id: $0) }
      })
  }
}

/// The interface of `Reference` for lists of references.
public protocol AnyReference: FieldConvertible, Identifiable<String> {
  /// Creates a reference to the record `id` without a check. A reference may name a record that isn't on this device
  /// (yet).
  init(id: String)
}

extension Reference: AnyReference {}

/// Types with a raw value become fields by declaring the conformance: `enum Priority: Int, FieldConvertible`.
extension RawRepresentable where Self: FieldConvertible, RawValue: FieldConvertible {
  /// Stores the raw value. A read throws `BothyError` `.invalidValue` if no case has it, for example a case of a later
  /// version of the app.
  @inlinable public static var fieldCoding: FieldKind.Coding<Self> {
    FieldKind.Coding(
      storing: { $0.rawValue },
      restoring: { (raw: RawValue) throws(BothyError) in
        guard let value = Self(rawValue: raw) else {
          throw BothyError(
            .invalidValue,
            "\(raw) isn't a case of \(Self.self). Add the case, or keep the raw value in the field.")
        }
        return value
      })
  }
}
