extension FieldKind {
  /// The storage of one type's values in a field: the kind, and how a value is written and read.
  ///
  /// An optimized build of an app calls the encoder and the decoder directly, without this value.
  ///
  /// An app gets one from a type with a raw value, or from `JSONField`; it makes none itself.
  public struct Coding<Value>: Sendable {
    /// Returns the kind of the field.
    @usableFromInline package let kind: @Sendable () -> FieldKind
    /// Writes a value as the next field: one column, or two of a coordinate.
    @usableFromInline package let encode: @Sendable (Value, inout FieldEncoder) -> Void
    /// Reads a value from the next field. Throws `.invalidValue` if it is null or doesn't fit the type.
    @usableFromInline package let decode: @Sendable (inout FieldDecoder) throws(BothyError) -> Value

    @inlinable package init(
      _ kind: @autoclosure @escaping @Sendable () -> FieldKind,
      encode: @escaping @Sendable (Value, inout FieldEncoder) -> Void,
      decode: @escaping @Sendable (inout FieldDecoder) throws(BothyError) -> Value
    ) {
      self.kind = kind
      self.encode = encode
      self.decode = decode
    }

    /// Stores values as those of another type of field, in the same columns. `restoring` throws `.invalidValue` for a
    /// stored value that doesn't fit.
    @inlinable package init<Stored: FieldConvertible>(
      storing: @escaping @Sendable (Value) -> Stored,
      restoring: @escaping @Sendable (Stored) throws(BothyError) -> Value
    ) {
      self.init(
        Stored.fieldKind, encode: { storing($0).encodeField(to: &$1) },
        decode: { (fields: inout FieldDecoder) throws(BothyError) in
          try restoring(try Stored(fromField: &fields))
        })
    }
  }
}
