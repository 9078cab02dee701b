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
  ///
  /// For `Entity.encode(to:)`, which calls it for each field in the order of the schema. A value that can't be stored
  /// is refused by the write that follows.
  @inlinable public func encodeField(to fields: inout FieldEncoder) { Self.fieldCoding.encode(self, &fields) }

  /// Reads the value from the next field. Throws `BothyError` `.invalidValue` if it is null or doesn't fit this type.
  ///
  /// For `Entity.init(id:from:)`, which calls it for each field in the order of the schema. An optional type reads null
  /// as nil.
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
  /// The wrapped type, so that optional fields compare with fields of that type.
  public typealias Unwrapped = Wrapped.Unwrapped
  /// Stores the value in the columns of the wrapped type, and nil as null in all of them. In JSON an absent member is
  /// nil.
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
  /// Stores 0 or 1 in one column, and reads any other number as true. JSON has `true` or `false`. Reading null throws
  /// `BothyError` `.invalidValue`; declare the property optional or give it a default.
  @inlinable public static var fieldCoding: FieldKind.Coding<Bool> {
    FieldKind.Coding(
      FieldKind(.bool), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.bool() })
  }
}

extension Int: FieldConvertible {}
extension Int64: FieldConvertible {}
extension Int32: FieldConvertible {}

extension FieldConvertible where Self: FixedWidthInteger & SignedInteger {
  /// Stores a whole number of 64 bits in one column. JSON has the number, of which other programs may read only 53
  /// bits.
  ///
  /// A read throws `BothyError` `.invalidValue` for null, and for a number that needs more bits than the type has, also of
  /// a sum. A write of a number beyond 64 bits throws it too.
  @inlinable public static var fieldCoding: FieldKind.Coding<Self> {
    FieldKind.Coding(
      FieldKind(.int),
      encode: { value, fields in
        // A number that isn't finite is refused.
        if let number = Int64(exactly: value) { fields.encode(number) } else { fields.encode(Double.nan) }
      },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let wide = try fields.int()
        guard let exact = Self(exactly: wide) else {
          throw BothyError(
            .invalidValue, "\(wide) needs more than \(Self.bitWidth) bits. Declare the field as Int64.")
        }
        return exact
      })
  }
}

extension Double: FieldConvertible {}
extension Float: FieldConvertible {}

/// JSON can't represent NaN and the infinities, so a write of one throws `BothyError` `.invalidValue`.
extension FieldConvertible where Self: BinaryFloatingPoint {
  /// Stores a number in one column, of the kind `double`, which has each `Float` exactly. JSON has the number; a whole
  /// number is read too.
  ///
  /// A read of a `Float` rounds a number that another app wrote to the nearest one, and a save of the record then writes
  /// that. A number beyond the greatest value of the type throws `BothyError` `.invalidValue` when it is read.
  @inlinable public static var fieldCoding: FieldKind.Coding<Self> {
    FieldKind.Coding(
      FieldKind(.double), encode: { $1.encode(Double($0)) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let wide = try fields.double()
        let narrow = Self(wide)
        guard narrow.isFinite || !wide.isFinite else {
          throw BothyError(
            .invalidValue, "\(wide) is too large for a \(Self.self). Declare the field as Double.")
        }
        return narrow
      })
  }
}

extension String: FieldConvertible {
  /// Stores UTF-8 text in one column, copied once by a write and once by a read. JSON has the string. Queries compare
  /// the bytes, so composed and decomposed forms of a letter differ. More than 1 GB throws `BothyError`
  /// `.invalidValue`.
  @inlinable public static var fieldCoding: FieldKind.Coding<String> {
    FieldKind.Coding(
      FieldKind(.text), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.text() })
  }
}

/// Stored in whole milliseconds. A write of a date that isn't a number, is infinite, or exceeds 64 bits of milliseconds
/// throws `BothyError` `.invalidValue`.
extension Date: FieldConvertible {
  /// Stores milliseconds since 1970 in one column, rounded to the nearest. JSON has the number. A value that was read
  /// back may therefore differ from the one that was saved by half a millisecond.
  @inlinable public static var fieldCoding: FieldKind.Coding<Date> {
    FieldKind.Coding(
      FieldKind(.date), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.time().date })
  }
}

/// Stored as lower-case text.
extension UUID: FieldConvertible {
  /// Stores 36 lower-case characters in one column. JSON has the string. Stored text that isn't a UUID throws
  /// `BothyError` `.invalidValue` when it is read.
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
  /// Stores the bytes in the row, copied once by a write and once by a read. JSON has them in base64, a third longer.
  /// Every fetch of the record reads them, so keep large ones in a `Blob`. More than 1 GB throws `BothyError`
  /// `.invalidValue`.
  @inlinable public static var fieldCoding: FieldKind.Coding<Data> {
    FieldKind.Coding(
      FieldKind(.data), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.data() })
  }
}

extension Coordinate: FieldConvertible {
  /// Stores latitude and longitude in two columns, with the suffixes `_lat` and `_lon`. JSON has `{"lat":…,"lon":…}`. A
  /// write of a place off the earth throws `BothyError` `.invalidValue`.
  @inlinable public static var fieldCoding: FieldKind.Coding<Coordinate> {
    FieldKind.Coding(
      FieldKind(.coordinate), encode: { $1.encode($0) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in try fields.coordinate() })
  }
}

extension Reference: FieldConvertible {
  /// Stores the id of the target in one column, which always has an index. JSON has the id. The target need not exist.
  /// Its type must be in the schema, else opening the store throws `BothyError` `invalidSchema`.
  @inlinable public static var fieldCoding: FieldKind.Coding<Reference<Target>> {
    FieldKind.Coding(
      FieldKind(.reference(to: Target.typeName, onDelete: .nullify)), encode: { $1.encode($0.id) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in Reference(id: try fields.text()) })
  }
}

/// The references to any type. A list of them is stored by its ids: `[Reference<Trip>]`.
package protocol AnyReference {}

extension Reference: AnyReference, Identifiable {}

/// Types with a raw value become fields by declaring the conformance: `enum Priority: Int, FieldConvertible`.
extension RawRepresentable where Self: FieldConvertible, RawValue: FieldConvertible {
  /// Stores the raw value. A read throws `BothyError` `.invalidValue` if no case has it, for example a case of a later
  /// version of the app.
  ///
  /// A fetch of an entity shows the field's default instead, or nil in an optional field. Without either it shows the
  /// case with the raw value 0 or empty text. If there isn't one, it leaves the record out.
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
