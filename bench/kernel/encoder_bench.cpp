// SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>
#include <algorithm>
#include <omp.h>
#include <oneapi/dnnl/dnnl.h>
#include "simile/core/threads.h"
#include "simile/kernel/encoder_forward.h"
#include "simile/kernel/vector_kernels.h"
using namespace simile;
double seconds(){return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();}
double peak(int threads){ std::vector<std::vector<float>> m(3*threads); for(auto&x:m) x.assign(256*1536,0.5f); double best=1e9;
 for(int r=0;r<4;r++){double t0=seconds();
 #pragma omp parallel num_threads(threads)
 {int t=omp_get_thread_num(); for(int i=0;i<20;i++) dnnl_sgemm('N','T',256,384,384,1,m[3*t].data(),384,m[3*t+1].data(),384,0,m[3*t+2].data(),384);}
 best=std::min(best,seconds()-t0);} return threads*20*2.0*256*384*384/best/1e9; }
int main(int argc,char**argv){
 std::string model=argc>1?argv[1]:"minilm"; int threads=argc>2?atoi(argv[2]):2; int B=argc>3?atoi(argv[3]):32;
 set_thread_count(threads);
 EncoderShape s; s.layers=6;s.hidden=384;s.heads=12;s.intermediate=1536;s.vocabulary=30522;s.positions=512;s.types=2; if(model=="bert"){s.layers=12;s.hidden=768;s.intermediate=3072;}
 std::vector<float> flat(encoder_parameter_count(s)); std::mt19937 g(1); std::normal_distribution<float> nd(0,0.02f); for(auto&x:flat)x=nd(g);
 EncoderWeights w=encoder_weights(s,flat.data());
 EncoderForward enc(s,w);
 for(const char* dist:{"short","long"}){
  double mean=!strcmp(dist,"short")?14:60,sd=mean==14?7:50; int mx=mean==14?90:256; double k=(mean/sd)*(mean/sd),th=sd*sd/mean;
  std::gamma_distribution<double> gd(k,th); std::mt19937 r(3); int n=8; std::vector<PackedBatch> bs(n); double fl=0; long tok=0;
  for(auto&b:bs){b.offsets={0}; for(int i=0;i<B;i++){int l=std::min(mx,std::max(3,(int)std::lround(gd(r)))); for(int j=0;j<l;j++)b.ids.push_back(1000+r()%29000); b.offsets.push_back(b.ids.size()); tok+=l;
    fl+=s.layers*(2.0*l*(4.0*s.hidden*s.hidden+2.0*s.hidden*s.intermediate)+4.0*l*l*s.hidden);}}
  std::vector<float> h(32*512*s.hidden*2); double best=1e9; double pk=0;
  for(int round=0;round<7;round++){ double t0=seconds(); for(auto&b:bs) enc(b,h.data()); best=std::min(best,seconds()-t0); pk=std::max(pk,peak(threads)); }
  double t1=1e9; for(int round=0;round<3;round++){double t0=seconds(); for(auto&b:bs) encoder_forward(s,w,b,h.data()); t1=std::min(t1,seconds()-t0);}
  printf("%s %s t%d b%d: %.0f sent/s %.1f GFLOP/s, peak %.0f share %.1f%% (unprepared %.0f sent/s) tokens/batch %.0f [%s]\n",model.c_str(),dist,threads,B,n*B/best,fl/best/1e9,pk,100*fl/best/1e9/pk,n*B/t1,double(tok)/n,vector_kernels().name);
 }
}
