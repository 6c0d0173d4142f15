/* The native methods of com.baidu.paddle.inference.Native over the C interface.
 *
 * Errors become Java exceptions; a method that throws returns at once. */
#include <jni.h>
#include <stdint.h>
#include <stdio.h>

#include "pd_inference_api.h"

#define JAVA(type, name) \
  JNIEXPORT type JNICALL Java_com_baidu_paddle_inference_Native_##name

/* Forgets what failed before, so that failed() asks of this call. */
static void begin(void) { PD_ClearError(); }

static void throw_text(JNIEnv* env, const char* kind, const char* text) {
  jclass type = (*env)->FindClass(env, kind);
  if (type != NULL) (*env)->ThrowNew(env, type, text);
}

/* Throws what the call since begin() noted; 0 if it went well. */
static int failed(JNIEnv* env) {
  const char* kind = "java/lang/IllegalStateException";
  switch (PD_LastStatus()) {
    case PD_OK:
      return 0;
    case PD_INVALID_ARGUMENT:
    case PD_NOT_FOUND:
      kind = "java/lang/IllegalArgumentException";
      break;
    case PD_UNSUPPORTED:
      kind = "java/lang/UnsupportedOperationException";
      break;
    case PD_OUT_OF_MEMORY:
      kind = "java/lang/OutOfMemoryError";
      break;
    default:
      break;
  }
  throw_text(env, kind, PD_LastErrorMessage());
  return 1;
}

/* The text of a Java string; NULL, with an exception pending, for null. */
static const char* text_of(JNIEnv* env, jstring s) {
  if (s == NULL) {
    throw_text(env, "java/lang/NullPointerException", "a text is null");
    return NULL;
  }
  return (*env)->GetStringUTFChars(env, s, NULL);
}

static jobjectArray texts_of(JNIEnv* env, PD_OneDimArrayCstr* texts) {
  jobjectArray out = NULL;
  jclass string = (*env)->FindClass(env, "java/lang/String");
  if (texts != NULL && string != NULL) {
    out = (*env)->NewObjectArray(env, (jsize)texts->size, string, NULL);
  }
  for (size_t i = 0; out != NULL && i < texts->size; ++i) {
    jstring s = (*env)->NewStringUTF(env, texts->data[i]);
    if (s == NULL) break;
    (*env)->SetObjectArrayElement(env, out, (jsize)i, s);
    (*env)->DeleteLocalRef(env, s);
  }
  PD_OneDimArrayCstrDestroy(texts);
  return out;
}

#define CONFIG ((PD_Config*)(intptr_t)at)
#define PREDICTOR ((PD_Predictor*)(intptr_t)at)
#define TENSOR ((PD_Tensor*)(intptr_t)at)

JAVA(jlong, configCreate)(JNIEnv* env, jclass c) {
  (void)c;
  begin();
  PD_Config* config = PD_ConfigCreate();
  failed(env);
  return (jlong)(intptr_t)config;
}
JAVA(void, configDestroy)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  PD_ConfigDestroy(CONFIG);
}
JAVA(void, configSetModel)
(JNIEnv* env, jclass c, jlong at, jstring program, jstring parameters) {
  (void)c;
  const char* p = text_of(env, program);
  if (p == NULL) return;
  const char* w = text_of(env, parameters);
  if (w != NULL) {
    begin();
    PD_ConfigSetModel(CONFIG, p, w);
    failed(env);
    (*env)->ReleaseStringUTFChars(env, parameters, w);
  }
  (*env)->ReleaseStringUTFChars(env, program, p);
}
JAVA(jstring, configProgFile)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return (*env)->NewStringUTF(env, PD_ConfigGetProgFile(CONFIG));
}
JAVA(jstring, configParamsFile)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return (*env)->NewStringUTF(env, PD_ConfigGetParamsFile(CONFIG));
}
JAVA(void, configSetThreads)(JNIEnv* env, jclass c, jlong at, jint threads) {
  (void)env, (void)c;
  PD_ConfigSetCpuMathLibraryNumThreads(CONFIG, threads);
}
JAVA(jint, configThreads)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  return PD_ConfigGetCpuMathLibraryNumThreads(CONFIG);
}
JAVA(void, configSwitchIrOptim)(JNIEnv* env, jclass c, jlong at, jboolean on) {
  (void)env, (void)c;
  PD_ConfigSwitchIrOptim(CONFIG, on != 0);
}
JAVA(jboolean, configIrOptim)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  return PD_ConfigIrOptim(CONFIG) != 0;
}
JAVA(void, configSwitchIrDebug)(JNIEnv* env, jclass c, jlong at, jboolean on) {
  (void)env, (void)c;
  PD_ConfigSwitchIrDebug(CONFIG, on != 0);
}

JAVA(void, configEnableMemoryOptim)
(JNIEnv* env, jclass c, jlong at, jboolean on) {
  (void)env, (void)c;
  PD_ConfigEnableMemoryOptim(CONFIG, on != 0);
}

JAVA(void, configEnableMkldnnBfloat16)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  PD_ConfigEnableMkldnnBfloat16(CONFIG);
}
JAVA(jboolean, configMkldnnBfloat16Enabled)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  return PD_ConfigMkldnnBfloat16Enabled(CONFIG) != 0;
}

/* Methods that set something, or ask, without arguments. */
#define SETS(name, call)                             \
  JAVA(void, name)(JNIEnv * env, jclass c, jlong at) { \
    (void)env, (void)c;                              \
    call(CONFIG);                                    \
  }
#define ASKS(name, call)                                 \
  JAVA(jboolean, name)(JNIEnv * env, jclass c, jlong at) { \
    (void)env, (void)c;                                  \
    return call(CONFIG) != 0;                            \
  }
SETS(configEnableMKLDNN, PD_ConfigEnableMKLDNN)
SETS(configDisableGlogInfo, PD_ConfigDisableGlogInfo)
SETS(configEnableONNXRuntime, PD_ConfigEnableONNXRuntime)
SETS(configDisableONNXRuntime, PD_ConfigDisableONNXRuntime)
SETS(configDisableGpu, PD_ConfigDisableGpu)
SETS(configEnableProfile, PD_ConfigEnableProfile)
ASKS(configMkldnnEnabled, PD_ConfigMkldnnEnabled)
ASKS(configMemoryOptimEnabled, PD_ConfigMemoryOptimEnabled)
ASKS(configGlogInfoDisabled, PD_ConfigGlogInfoDisabled)
ASKS(configONNXRuntimeEnabled, PD_ConfigONNXRuntimeEnabled)
ASKS(configUseGpu, PD_ConfigUseGpu)
ASKS(configProfileEnabled, PD_ConfigProfileEnabled)
JAVA(void, configEnableUseGpu)
(JNIEnv* env, jclass c, jlong at, jlong megabytes, jint device) {
  (void)env, (void)c;
  PD_ConfigEnableUseGpu(CONFIG, (uint64_t)megabytes, device);
}

/* A method that hands one text to the C interface. */
#define WITH_TEXT(name, call)                                         \
  JAVA(void, name)(JNIEnv * env, jclass c, jlong at, jstring value) { \
    (void)c;                                                          \
    const char* text = text_of(env, value);                           \
    if (text == NULL) return;                                         \
    begin();                                                          \
    call(CONFIG, text);                                               \
    failed(env);                                                      \
    (*env)->ReleaseStringUTFChars(env, value, text);                  \
  }
WITH_TEXT(configSetONNXRuntimeLibrary, PD_ConfigSetONNXRuntimeLibrary)
WITH_TEXT(configSetOptimCacheDir, PD_ConfigSetOptimCacheDir)
WITH_TEXT(configDeletePass, PD_ConfigDeletePass)

JAVA(void, configInsertPass)
(JNIEnv* env, jclass c, jlong at, jlong index, jstring name) {
  (void)c;
  const char* text = text_of(env, name);
  if (text == NULL) return;
  begin();
  PD_ConfigInsertPass(CONFIG, (size_t)index, text);
  failed(env);
  (*env)->ReleaseStringUTFChars(env, name, text);
}
JAVA(jobjectArray, configPasses)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return texts_of(env, PD_ConfigAllPasses(CONFIG));
}
JAVA(jstring, configSummary)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  begin();
  PD_Cstr* text = PD_ConfigSummary(CONFIG);
  if (failed(env)) return NULL;
  jstring out = (*env)->NewStringUTF(env, text->data);
  PD_CstrDestroy(text);
  return out;
}

JAVA(jlong, predictorCreate)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  begin();
  PD_Predictor* predictor = PD_PredictorCreate(CONFIG);
  failed(env);
  return (jlong)(intptr_t)predictor;
}
JAVA(jlong, predictorClone)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  begin();
  PD_Predictor* predictor = PD_PredictorClone(PREDICTOR);
  failed(env);
  return (jlong)(intptr_t)predictor;
}
JAVA(void, predictorDestroy)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  PD_PredictorDestroy(PREDICTOR);
}
JAVA(jobjectArray, predictorInputNames)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return at == 0 ? NULL : texts_of(env, PD_PredictorGetInputNames(PREDICTOR));
}
JAVA(jobjectArray, predictorOutputNames)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return at == 0 ? NULL : texts_of(env, PD_PredictorGetOutputNames(PREDICTOR));
}
JAVA(jlong, predictorHandle)
(JNIEnv* env, jclass c, jlong at, jstring name, jboolean input) {
  (void)c;
  const char* text = text_of(env, name);
  if (text == NULL) return 0;
  begin();
  PD_Tensor* tensor = input ? PD_PredictorGetInputHandle(PREDICTOR, text)
                            : PD_PredictorGetOutputHandle(PREDICTOR, text);
  failed(env);
  (*env)->ReleaseStringUTFChars(env, name, text);
  return (jlong)(intptr_t)tensor;
}
JAVA(jboolean, predictorRun)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  begin();
  PD_Bool ran = PD_PredictorRun(PREDICTOR);
  failed(env);
  return ran != 0;
}
JAVA(void, predictorClearIntermediateTensor)
(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  PD_PredictorClearIntermediateTensor(PREDICTOR);
}
JAVA(jlong, predictorTryShrinkMemory)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  return (jlong)PD_PredictorTryShrinkMemory(PREDICTOR);
}

JAVA(void, tensorDestroy)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  PD_TensorDestroy(TENSOR);
}
JAVA(jstring, tensorName)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  return (*env)->NewStringUTF(env, PD_TensorGetName(TENSOR));
}
JAVA(jint, tensorType)(JNIEnv* env, jclass c, jlong at) {
  (void)env, (void)c;
  return PD_TensorGetDataType(TENSOR);
}
JAVA(jintArray, tensorShape)(JNIEnv* env, jclass c, jlong at) {
  (void)c;
  begin();
  PD_OneDimArrayInt32* shape = PD_TensorGetShape(TENSOR);
  if (failed(env)) return NULL;
  jintArray out = (*env)->NewIntArray(env, (jsize)shape->size);
  if (out != NULL) {
    (*env)->SetIntArrayRegion(env, out, 0, (jsize)shape->size,
                              (const jint*)shape->data);
  }
  PD_OneDimArrayInt32Destroy(shape);
  return out;
}
JAVA(void, tensorReshape)(JNIEnv* env, jclass c, jlong at, jintArray shape) {
  (void)c;
  if (shape == NULL) {
    throw_text(env, "java/lang/NullPointerException", "shape is null");
    return;
  }
  jint* sizes = (*env)->GetIntArrayElements(env, shape, NULL);
  if (sizes == NULL) return;
  begin();
  PD_TensorReshape(TENSOR, (size_t)(*env)->GetArrayLength(env, shape),
                   (int32_t*)sizes);
  failed(env);
  (*env)->ReleaseIntArrayElements(env, shape, sizes, JNI_ABORT);
}

/* Whether an array has the elements of a tensor; else an exception. */
static int fits(JNIEnv* env, jarray data, int64_t count) {
  if (data == NULL) {
    throw_text(env, "java/lang/NullPointerException", "data is null");
    return 0;
  }
  const jsize length = (*env)->GetArrayLength(env, data);
  if (length == count) return 1;
  char text[96];
  snprintf(text, sizeof(text), "the array has %d elements, the tensor %lld",
           (int)length, (long long)count);
  throw_text(env, "java/lang/IllegalArgumentException", text);
  return 0;
}

/* How many elements the shape of an input says; -1 with an exception pending.
 */
static int64_t count_of(JNIEnv* env, PD_Tensor* tensor) {
  PD_OneDimArrayInt32* shape = PD_TensorGetShape(tensor);
  if (failed(env)) return -1;
  int64_t count = 1;
  for (size_t i = 0; i < shape->size; ++i) {
    const int64_t n = shape->data[i];
    count = n < 0 || count < 0 ? -1 : count * n;
  }
  PD_OneDimArrayInt32Destroy(shape);
  if (count < 0) {
    throw_text(
        env, "java/lang/IllegalStateException",
        "the model leaves a size of this input open; call reshape first");
  }
  return count;
}

#define COPIES(Java, jtype, Name, T)                                           \
  JAVA(void, tensorFrom##Java##s)                                              \
  (JNIEnv * env, jclass c, jlong at, jtype##Array data) {                      \
    (void)c;                                                                   \
    begin();                                                                   \
    const int64_t count = count_of(env, TENSOR);                               \
    if (count < 0 || !fits(env, data, count)) return;                          \
    T* to = FROM_##Name(TENSOR);                                               \
    if (failed(env)) return;                                                   \
    if (count > 0)                                                             \
      (*env)->Get##Java##ArrayRegion(env, data, 0, (jsize)count, (jtype*)to);  \
  }                                                                            \
  JAVA(void, tensorTo##Java##s)                                                \
  (JNIEnv * env, jclass c, jlong at, jtype##Array data) {                      \
    (void)c;                                                                   \
    begin();                                                                   \
    int32_t count = 0;                                                         \
    const T* from = TO_##Name(TENSOR, &count);                                 \
    if (failed(env) || !fits(env, data, count)) return;                        \
    if (count > 0)                                                             \
      (*env)->Set##Java##ArrayRegion(env, data, 0, count, (const jtype*)from); \
  }
#define FROM_Float(t) PD_TensorMutableDataFloat(t, PD_PLACE_CPU)
#define TO_Float(t, n) PD_TensorDataFloat(t, NULL, n)
#define FROM_Int32(t) PD_TensorMutableDataInt32(t, PD_PLACE_CPU)
#define TO_Int32(t, n) PD_TensorDataInt32(t, NULL, n)
#define FROM_Int64(t) PD_TensorMutableDataInt64(t, PD_PLACE_CPU)
#define TO_Int64(t, n) PD_TensorDataInt64(t, NULL, n)
#define FROM_Byte(t)                                         \
  (PD_TensorGetDataType(t) == PD_DATA_UINT8                  \
       ? (int8_t*)PD_TensorMutableDataUint8(t, PD_PLACE_CPU) \
       : PD_TensorMutableDataInt8(t, PD_PLACE_CPU))
#define TO_Byte(t, n)                                  \
  (PD_TensorGetDataType(t) == PD_DATA_UINT8            \
       ? (const int8_t*)PD_TensorDataUint8(t, NULL, n) \
       : PD_TensorDataInt8(t, NULL, n))
COPIES(Float, jfloat, Float, float)
COPIES(Int, jint, Int32, int32_t)
COPIES(Long, jlong, Int64, int64_t)
COPIES(Byte, jbyte, Byte, int8_t)

JAVA(jstring, version)(JNIEnv* env, jclass c) {
  (void)c;
  return (*env)->NewStringUTF(env, PD_GetVersion());
}
